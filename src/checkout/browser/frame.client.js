// Sends what an order's page shows to the page that has it in a frame, as plugins for BTCPay Server
// expect it (greenfield/browser/modal.client.js). They take any other status for a failure.

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
}
