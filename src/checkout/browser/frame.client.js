// Sends what an order's page shows to the page that has it in a frame, as plugins for BTCPay Server
// expect it (greenfield/browser/modal.client.js). They take any other status for a failure. Outside of
// a frame, it leads to the shop by itself; a header does so where no script runs.

const words = { processing: 'paid', paid: 'complete', expired: 'expired', canceled: 'invalid' };
const shown = document.getElementById('status');
const invoiceId = location.pathname.split('/').at(-1);
let sent;

function send() {
  const status = words[shown.querySelector('[data-status]')?.dataset.status];
  if (status === undefined || status === sent) return;
  sent = status;
  parent.postMessage({ invoiceId, status }, '*');
}

if (parent !== self) {
  parent.postMessage('loaded', '*');
  new MutationObserver(send).observe(shown, { childList: true, subtree: true });
  send();
} else {
  const facts = document.getElementById('facts');
  const link = () => facts.querySelector('[data-leave]');
  let timer;
  const leave = () => {
    if (timer || !link()) return;
    timer = setTimeout(() => link() && location.assign(link().href), 5000);
  };
  new MutationObserver(leave).observe(facts, { childList: true });
  leave();
}
