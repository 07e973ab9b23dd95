// Scripts besides htmx: logarithmic sliders, the wallet, and sending prepared transactions.
import { chainOf, discover, playWallet, post, sentence, switchTo } from "./wallet.js";

const place = document.getElementById("wallet");
const chainId = Number(place.dataset.chainId);
const message = document.getElementById("message");
const account = document.getElementById("account");
const connectButton = document.getElementById("connect");
const dialog = document.getElementById("wallets");
const wallets = new Map();
let connected = null; // {info, provider, address}

document.documentElement.classList.add("scripted");

// --- Messages ----------------------------------------------------------------------------------------------------

function say(text, { warning = false, action = null } = {}) {
  message.replaceChildren();
  if (!text) return;
  const note = document.createElement("p");
  note.className = warning ? "notice warning" : "notice";
  if (warning) note.setAttribute("role", "alert");
  note.textContent = text;
  if (action) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = action.label;
    button.addEventListener("click", action.act);
    note.append(document.createElement("br"), button);
  }
  message.append(note);
}

const complain = (error) => say(sentence(error), { warning: true });

document.body.addEventListener("htmx:responseError", (event) => {
  if (event.detail.xhr.status === 429) return; // polls are repeated
  const text = new DOMParser().parseFromString(event.detail.xhr.responseText, "text/html").body.textContent.trim();
  say(text.slice(0, 300) || "The request failed; try again.", { warning: true });
});
let silent = false;
document.body.addEventListener("htmx:sendError", () => {
  silent = true;
  say("The site does not respond; this page tries again automatically.", { warning: true });
});
document.body.addEventListener("htmx:afterRequest", (event) => {
  if (silent && event.detail.successful) {
    silent = false;
    say("");
  }
});

// --- The wallet ----------------------------------------------------------------------------------------------------

function offer(wallet) {
  wallets.set(wallet.info.rdns, wallet);
  document.getElementById("no-wallet").hidden = true;
  const button = document.createElement("button");
  button.type = "button";
  // The wallet's author chooses its name and icon: the name is inserted as text, the icon only as image data.
  if (/^data:image\//.test(wallet.info.icon ?? "")) {
    const icon = document.createElement("img");
    icon.src = wallet.info.icon;
    icon.alt = "";
    button.append(icon);
  }
  button.append(String(wallet.info.name));
  button.addEventListener("click", () => connect(wallet));
  const item = document.createElement("li");
  item.append(button);
  document.getElementById("wallet-list").append(item);
  if (sessionStorage.getItem("wallet") === wallet.info.rdns) reconnect(wallet);
}

async function connect(wallet) {
  dialog.close();
  say("Open your wallet and allow this page to see your account.");
  try {
    const [address] = await wallet.provider.request({ method: "eth_requestAccounts" });
    use(wallet, address);
    say("");
    await checkChain();
  } catch (error) {
    complain(error);
  }
}

async function reconnect(wallet) {
  try {
    const [address] = await wallet.provider.request({ method: "eth_accounts" });
    if (address && !connected) {
      use(wallet, address);
      await checkChain();
    }
  } catch {
    // The wallet is asked again when it is needed.
  }
}

function use(wallet, address) {
  if (!address) return forget();
  const isNew = connected?.provider !== wallet.provider;
  connected = { ...wallet, address };
  sessionStorage.setItem("wallet", wallet.info.rdns);
  account.textContent = `${address.slice(0, 6)}…${address.slice(-4)}`;
  account.title = address;
  connectButton.textContent = "Disconnect";
  if (isNew) {
    wallet.provider.on?.("accountsChanged", ([next]) => connected?.provider === wallet.provider && use(wallet, next));
    wallet.provider.on?.("chainChanged", () => connected?.provider === wallet.provider && checkChain());
  }
  showMine();
  showRole();
}

// Only the custodian, or the account that custody is offered to, can change a ledger: say so before the wallet opens.
function showRole() {
  const role = document.getElementById("role");
  if (!role) return;
  const { custodian, heir } = role.dataset;
  const is = (address) => address.toLowerCase() === connected?.address.toLowerCase();
  role.classList.remove("warning");
  if (!connected) role.textContent = "Changes on this page must be signed by the custodian's wallet: connect it.";
  else if (is(custodian)) role.textContent = "Your wallet has the custodian's key.";
  else if (is(heir)) role.textContent = "Custody of this ledger is offered to your wallet's account: you can accept it below.";
  else {
    role.textContent = `Your wallet's account ${connected.address} is not the custodian's account ${custodian}: the contract will refuse its changes.`;
    role.classList.add("warning");
  }
}

function showMine() {
  if (!connected || !document.getElementById("mine")) return;
  htmx.ajax("GET", `/accounts/${connected.address}`, { target: "#mine", swap: "innerHTML" });
}

// The account may have asked elsewhere, or a page loaded just before the request was seen.
document.body.addEventListener("ledger-changed", showMine);

function forget() {
  connected = null;
  sessionStorage.removeItem("wallet");
  account.textContent = "";
  connectButton.textContent = "Connect a wallet";
  document.getElementById("mine")?.replaceChildren();
  showRole();
}

async function checkChain() {
  const { provider, info } = connected;
  if ((await chainOf(provider)) === chainId) {
    if (message.querySelector("[data-wrong-chain]")) say("");
    return true;
  }
  const act = async () => {
    try {
      await switchTo(provider, chainId, place.dataset.walletRpc);
      if (await checkChain()) say("Your wallet is on the right chain now.");
    } catch (error) {
      complain(error);
    }
  };
  say(`${info.name} is on another chain. This ledger is on chain ${chainId}.`, {
    warning: true,
    action: { label: `Switch to chain ${chainId}`, act },
  });
  message.firstChild.dataset.wrongChain = "";
  return false;
}

connectButton.addEventListener("click", () => (connected ? forget() : dialog.showModal()));
document.getElementById("close-wallets").addEventListener("click", () => dialog.close());

// --- Sending prepared transactions --------------------------------------------------------------------------------

let sending = false;

async function send(button) {
  if (!connected) return dialog.showModal();
  // The button may be replaced by a refresh while the wallet is open.
  if (sending) return say("Your wallet is already waiting for you: open it and confirm or decline.");
  const label = button.textContent;
  button.disabled = true;
  sending = true;
  try {
    const body = { ...JSON.parse(button.dataset.body), [button.dataset.signer]: connected.address };
    const signs = button.dataset.sign && !connected.sendsOnly;
    const reply = await post(signs ? button.dataset.sign : button.dataset.send, body);
    const prepared = signs ? reply.to_sign : reply.transaction;
    if (!prepared && reply.says) return say(reply.says.join(" "));
    if (!prepared) {
      say("This answer has become free in the meantime: here it is.");
      return htmx.trigger("#ask-form", "submit");
    }
    if (!(await checkChain())) return;
    button.textContent = "Confirm in your wallet";
    say("Open your wallet and confirm. You can still decline there.");
    if (signs) return await sign(prepared);
    const { to, data, value, gas } = prepared;
    const transaction = { from: connected.address, to, data, value, ...(gas && { gas }) };
    follow(await connected.provider.request({ method: "eth_sendTransaction", params: [transaction] }));
  } catch (error) {
    complain(error);
  } finally {
    sending = false;
    button.disabled = false;
    button.textContent = label;
  }
}

// The wallet signs, and our site hands the signed request to the relay, which pays the chain's fee.
async function sign({ typed_data, request }) {
  const params = [connected.address, JSON.stringify(typed_data)];
  const signature = await connected.provider.request({ method: "eth_signTypedData_v4", params });
  say("Handing the signed request to the relay.");
  const { identifier } = await post("/api/v1/requests", { ...request, signature: String(signature).toLowerCase() });
  followAt(`/requests/${identifier}`);
}

const follow = (transaction) => followAt(`/transactions/${transaction}?sent=${Date.now() / 1000}`);

function followAt(path) {
  say("");
  // After a reload, the page still shows the same request.
  history.pushState({}, "", path);
  htmx.ajax("GET", path, { target: "#progress", swap: "innerHTML" }).then(() => {
    document.getElementById("progress").scrollIntoView({ block: "nearest" });
  });
}

window.addEventListener("popstate", () => location.reload());

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-send]");
  if (button) send(button);
});

// --- Parts that refresh automatically ------------------------------------------------------------------------------

// A part is not refreshed while the keyboard focus is inside it, except if the focused element has an id: it gets its focus
// back.
document.body.addEventListener("htmx:beforeSwap", (event) => {
  const focused = document.activeElement;
  if (event.detail.target.id === "live" && event.detail.target.contains(focused) && !focused.id) event.detail.shouldSwap = false;
});

// --- Sliders -------------------------------------------------------------------------------------------------------

const STEPS = 1000;

function toSlider(slider) {
  const value = Number(document.getElementById(slider.dataset.for)?.value);
  const low = Number(slider.dataset.low);
  const high = Number(slider.dataset.high);
  if (value > 0) slider.value = Math.round((STEPS * Math.log(value / low)) / Math.log(high / low));
}

function fromSlider(slider) {
  const low = Number(slider.dataset.low);
  const high = Number(slider.dataset.high);
  const value = low * (high / low) ** (Number(slider.value) / STEPS);
  document.getElementById(slider.dataset.for).value = Number(value.toPrecision(3));
}

document.addEventListener("input", (event) => {
  if (event.target.matches("[data-for]")) fromSlider(event.target);
  else for (const slider of document.querySelectorAll(`[data-for="${CSS.escape(event.target.id)}"]`)) toSlider(slider);
}, { capture: true });

function setSliders() {
  for (const slider of document.querySelectorAll("[data-for]")) toSlider(slider);
}

document.body.addEventListener("htmx:afterSwap", (event) => {
  setSliders();
  showRole();
  const form = document.getElementById("ask-form");
  // The price changes with the query, with the kind of accuracy, and after a request.
  if (form && (event.detail.target.id === "accuracy" || event.detail.elt.closest("#progress"))) htmx.trigger(form, "submit");
  if (event.detail.elt.closest("#progress")) showMine();
});

setSliders();
showRole();
if (place.dataset.play) offer(playWallet(chainId));
discover(offer);
