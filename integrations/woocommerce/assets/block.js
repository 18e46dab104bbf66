// Shows the payment method in the checkout block. Text is set as text, never as HTML.

(() => {
  const { registerPaymentMethod } = window.wc.wcBlocksRegistry;
  const { createElement } = window.wp.element;
  const { decodeEntities } = window.wp.htmlEntities;
  const { title, description, supports } = window.wc.wcSettings.getSetting('paygate_data', {});

  const label = decodeEntities(title ?? 'Bitcoin');
  const content = createElement('div', null, decodeEntities(description ?? ''));
  registerPaymentMethod({
    name: 'paygate',
    label,
    ariaLabel: label,
    content,
    edit: content,
    canMakePayment: () => true,
    supports: { features: supports ?? ['products'] },
  });
})();
