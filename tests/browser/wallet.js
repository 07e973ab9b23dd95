// A browser wallet's half in the page: an EIP-1193 provider, announced as EIP-6963 says. It decides nothing: every request
// goes over a binding to wallet.py, which holds the key.
({ channel, info, announce, legacy }) => {
  const listeners = new Map();
  const of = (event) => listeners.get(event) ?? new Set();

  const emit = (event, ...values) => {
    for (const listener of [...of(event)]) {
      try {
        listener(...values);
      } catch (error) {
        reportError(error); // the page's mistake, and a test may look for it
      }
    }
  };

  const on = (event, listener) => {
    listeners.set(event, of(event).add(listener));
    return provider;
  };

  const removeListener = (event, listener) => {
    of(event).delete(listener);
    return provider;
  };

  const rpcError = ({ code, message, data }) => Object.assign(new Error(message), { code, data });

  const request = async ({ method, params }) => {
    for (let again = false; ; again = true) {
      // Listened for before it is asked, so that no release comes too early to be heard.
      let release;
      const released = new Promise((resolve) => (release = resolve));
      on("released by the test", release);
      const reply = await window[channel]({ method, params: params ?? [], again });
      if (reply.wait) await released;
      removeListener("released by the test", release);
      if (reply.error) throw rpcError(reply.error);
      if (!reply.wait) return reply.result;
    }
  };

  const provider = { request, on, removeListener };
  Object.defineProperty(window, `${channel}_emit`, {
    value: (event, ...values) => emit(event, ...(event === "disconnect" ? values.map(rpcError) : values)),
  });

  if (announce) {
    const detail = Object.freeze({ info: Object.freeze(info), provider });
    const tell = () => window.dispatchEvent(new CustomEvent("eip6963:announceProvider", { detail }));
    window.addEventListener("eip6963:requestProvider", tell);
    tell();
  }
  if (legacy) window.ethereum = provider;
};
