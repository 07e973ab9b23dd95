// A browser wallet: discovered by EIP-6963, called by EIP-1193. The wallet signs; this site never gets a key.

export const REJECTED = 4001;
const UNKNOWN_CHAIN = 4902;

/** Call `found({info, provider})` for each wallet of the browser, including those that are announced later. */
export function discover(found) {
  const known = new Set();
  window.addEventListener("eip6963:announceProvider", (event) => {
    const { info, provider } = event.detail ?? {};
    if (info?.uuid && provider?.request && !known.has(info.uuid)) {
      known.add(info.uuid);
      found({ info, provider });
    }
  });
  window.dispatchEvent(new Event("eip6963:requestProvider"));
  // Wallets older than EIP-6963 only set window.ethereum.
  setTimeout(() => {
    if (known.size === 0 && window.ethereum?.request) {
      known.add("legacy");
      found({ info: { uuid: "legacy", rdns: "legacy", name: "Browser wallet", icon: "" }, provider: window.ethereum });
    }
  }, 300);
}

/** A throw-away account on a development chain, with the manners of a wallet: the node takes its word, nobody has a key. */
export function playWallet(chainId) {
  const request = async ({ method, params }) => {
    if (method === "eth_chainId") return `0x${chainId.toString(16)}`;
    if (method === "eth_accounts") return [sessionStorage.getItem("play")].filter(Boolean);
    if (method === "eth_requestAccounts") {
      const account = sessionStorage.getItem("play") ?? (await post("/play/account", {})).address;
      sessionStorage.setItem("play", account);
      return [account];
    }
    if (method === "eth_sendTransaction") {
      const { from, data } = params[0];
      try {
        return (await post("/play/send", { from, data })).transaction;
      } catch (error) {
        // After a restart the site does not know the account any more: the next connection creates another.
        if (error.type === "NotAllowed") sessionStorage.removeItem("play");
        throw error;
      }
    }
    throw Object.assign(new Error(`A play account does not support ${method}.`), { code: 4200 });
  };
  return { info: { uuid: "play", rdns: "play", name: "Throw-away account with test coins", icon: "" }, provider: { request }, sendsOnly: true };
}

/** Send JSON to our own site; a mistake becomes an Error with its type and sentence. */
export async function post(path, body) {
  const reply = await fetch(path, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });
  const content = await reply.json();
  if (!reply.ok) throw Object.assign(new Error(content.error.message), { type: content.error.type });
  return content;
}

/** Return the chain that a wallet is on. */
export async function chainOf(provider) {
  return Number(await provider.request({ method: "eth_chainId" }));
}

/** Ask a wallet to change to a chain, and to learn it first if it must and can. */
export async function switchTo(provider, chainId, rpc) {
  const hex = `0x${chainId.toString(16)}`;
  try {
    await provider.request({ method: "wallet_switchEthereumChain", params: [{ chainId: hex }] });
  } catch (error) {
    if (error.code !== UNKNOWN_CHAIN || !rpc) throw error;
    const coin = { name: "Ether", symbol: "ETH", decimals: 18 };
    const chain = { chainId: hex, chainName: `Chain ${chainId}`, rpcUrls: [rpc], nativeCurrency: coin };
    await provider.request({ method: "wallet_addEthereumChain", params: [chain] });
    await provider.request({ method: "wallet_switchEthereumChain", params: [{ chainId: hex }] });
  }
}

/** Say in one sentence or two what went wrong in a wallet, and what to do. */
export function sentence(error) {
  if (error.type) return error.message; // a message of our own site
  if (error.code === REJECTED) return "You declined in your wallet. Nothing was sent or spent; you can ask again at any time.";
  if (error.code === -32002) return "Your wallet is already waiting for you: open it and confirm or decline.";
  if (error.code === 4100) return "Your wallet has not allowed this page to use the account: connect it again.";
  if (error.code === 4200 || error.code === -32601)
    return "Your wallet cannot do that. If it cannot sign typed data, pay the fee yourself, or use another wallet. Nothing was spent.";
  if (error.code === 4900 || error.code === 4901) return "Your wallet has no connection to the chain: check its network and try again.";
  if (error.code === UNKNOWN_CHAIN) return "Your wallet does not know this chain: add it there manually, with the endpoint that the custodian gives you.";
  if (/insufficient funds/i.test(error.message ?? "")) return "The account cannot pay the chain's fee: fund it with the chain's native currency.";
  return `The wallet failed (${String(error.message ?? error).slice(0, 200)}). Nothing was spent.`;
}
