// What shops load as /modal/btcpay.js: it opens the page of an order in a frame over the shop. A page
// that may not be framed says nothing, and the browser goes there instead.

(() => {
  const patienceMs = 5000;
  let base = new URL('..', document.currentScript.src).href.replace(/\/$/, '');
  let frame;
  let enter = () => {};
  let leave = () => {};
  let receive = () => {};

  function showFrame() {
    if (frame) frame.hidden = false;
  }
  function hideFrame() {
    if (!frame) return;
    frame.remove();
    frame = undefined;
    leave();
  }
  function close() {
    receive({ data: 'close', origin: new URL(base).origin });
    hideFrame();
  }
  function appendInvoiceFrame(id) {
    hideFrame();
    const page = document.createElement('iframe');
    page.src = `${base}/invoice?id=${encodeURIComponent(id)}&view=modal`;
    page.allow = 'clipboard-write';
    page.style.cssText = 'width:100%;height:100%;border:0';
    const button = document.createElement('button');
    button.type = 'button';
    button.textContent = '×';
    button.ariaLabel = 'Close';
    button.style.cssText = 'position:absolute;top:8px;right:8px;font-size:24px';
    button.addEventListener('click', close);
    frame = document.createElement('div');
    frame.hidden = true;
    frame.style.cssText = 'position:fixed;inset:0;z-index:2147483647;background:#fff';
    frame.append(page, button);
    document.body.append(frame);
    enter();
    const own = frame;
    setTimeout(() => {
      if (frame === own && own.hidden) location.assign(`${base}/i/${encodeURIComponent(id)}`);
    }, patienceMs);
  }

  addEventListener('message', (event) => {
    const page = frame?.querySelector('iframe');
    if (!page || event.source !== page.contentWindow || !base.startsWith(event.origin)) return;
    if (event.data === 'loaded') showFrame();
    receive(event);
  });

  window.btcpay = {
    showFrame,
    hideFrame,
    appendInvoiceFrame,
    appendAndShowInvoiceFrame: appendInvoiceFrame,
    showInvoice: appendInvoiceFrame,
    setApiUrlPrefix(url) {
      base = url.replace(/\/$/, '');
    },
    onModalWillEnter(run) {
      enter = run;
    },
    onModalWillLeave(run) {
      leave = run;
    },
    onModalReceiveMessage(run) {
      receive = run;
    },
  };
})();
