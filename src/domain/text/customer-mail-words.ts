// What mails to customers say, in the languages of the pages.

import type { Language } from './language.ts';

export interface CustomerMailWords {
  readonly seenTitle: (price: string, shop: string) => string;
  readonly seen: (shop: string) => string;
  readonly paidTitle: (price: string, shop: string) => string;
  readonly paid: (shop: string) => string;
  /** The first money of an order that needs more. */
  readonly arrivedByLightning: (shop: string) => string;
  readonly paidByLightning: (shop: string) => string;
  readonly page: string;
  /** For a person who never ordered. */
  readonly footer: string;
}

export const customerMailWords: Readonly<Record<Language, CustomerMailWords>> = {
  en: {
    seenTitle: (price, shop) => `Payment seen: ${price} (${shop})`,
    seen: (shop) => `A payment for your order at ${shop} was seen. It is not final yet.`,
    paidTitle: (price, shop) => `Paid: ${price} (${shop})`,
    paid: (shop) => `Your order at ${shop} is paid.`,
    arrivedByLightning: (shop) =>
      `A Lightning payment for your order at ${shop} arrived. The order is not paid in full yet.`,
    paidByLightning: (shop) => `Your order at ${shop} was paid by Lightning.`,
    page: 'The page of your order shows its state.',
    footer: 'This address was given with the order. If that was not you, ignore this mail.',
  },
  es: {
    seenTitle: (price, shop) => `Pago detectado: ${price} (${shop})`,
    seen: (shop) => `Hemos detectado un pago de su pedido en ${shop}. Todavía no es definitivo.`,
    paidTitle: (price, shop) => `Pagado: ${price} (${shop})`,
    paid: (shop) => `Su pedido en ${shop} está pagado.`,
    arrivedByLightning: (shop) =>
      `Ha llegado un pago por Lightning de su pedido en ${shop}. El pedido aún no está pagado del todo.`,
    paidByLightning: (shop) => `Su pedido en ${shop} se ha pagado por Lightning.`,
    page: 'La página de su pedido muestra su estado.',
    footer: 'Esta dirección se indicó con el pedido. Si no fue usted, ignore este correo.',
  },
  'pt-BR': {
    seenTitle: (price, shop) => `Pagamento detectado: ${price} (${shop})`,
    seen: (shop) =>
      `Um pagamento do seu pedido em ${shop} foi detectado. Ele ainda não é definitivo.`,
    paidTitle: (price, shop) => `Pago: ${price} (${shop})`,
    paid: (shop) => `Seu pedido em ${shop} está pago.`,
    arrivedByLightning: (shop) =>
      `Chegou um pagamento por Lightning do seu pedido em ${shop}. O pedido ainda não está totalmente pago.`,
    paidByLightning: (shop) => `Seu pedido em ${shop} foi pago por Lightning.`,
    page: 'A página do seu pedido mostra a situação dele.',
    footer: 'Este endereço foi informado com o pedido. Se não foi você, ignore este e-mail.',
  },
  de: {
    seenTitle: (price, shop) => `Zahlung gesehen: ${price} (${shop})`,
    seen: (shop) =>
      `Eine Zahlung für Ihre Bestellung bei ${shop} wurde gesehen. Sie ist noch nicht endgültig.`,
    paidTitle: (price, shop) => `Bezahlt: ${price} (${shop})`,
    paid: (shop) => `Ihre Bestellung bei ${shop} ist bezahlt.`,
    arrivedByLightning: (shop) =>
      `Eine Lightning-Zahlung für Ihre Bestellung bei ${shop} ist angekommen. Die Bestellung ist noch nicht vollständig bezahlt.`,
    paidByLightning: (shop) => `Ihre Bestellung bei ${shop} wurde per Lightning bezahlt.`,
    page: 'Die Seite Ihrer Bestellung zeigt den Stand.',
    footer:
      'Diese Adresse wurde mit der Bestellung angegeben. Wenn Sie das nicht waren, ignorieren Sie diese E-Mail.',
  },
  fr: {
    seenTitle: (price, shop) => `Paiement vu\u202F: ${price} (${shop})`,
    seen: (shop) =>
      `Un paiement pour votre commande chez ${shop} a été vu. Il n’est pas encore définitif.`,
    paidTitle: (price, shop) => `Payé\u202F: ${price} (${shop})`,
    paid: (shop) => `Votre commande chez ${shop} est payée.`,
    arrivedByLightning: (shop) =>
      `Un paiement Lightning pour votre commande chez ${shop} est arrivé. La commande n’est pas encore entièrement payée.`,
    paidByLightning: (shop) => `Votre commande chez ${shop} a été payée par Lightning.`,
    page: 'La page de votre commande montre son état.',
    footer:
      'Cette adresse a été indiquée avec la commande. Si ce n’était pas vous, ignorez ce message.',
  },
  it: {
    seenTitle: (price, shop) => `Pagamento rilevato: ${price} (${shop})`,
    seen: (shop) =>
      `È stato rilevato un pagamento per il Suo ordine presso ${shop}. Non è ancora definitivo.`,
    paidTitle: (price, shop) => `Pagato: ${price} (${shop})`,
    paid: (shop) => `Il Suo ordine presso ${shop} è pagato.`,
    arrivedByLightning: (shop) =>
      `È arrivato un pagamento Lightning per il Suo ordine presso ${shop}. L’ordine non è ancora pagato del tutto.`,
    paidByLightning: (shop) => `Il Suo ordine presso ${shop} è stato pagato con Lightning.`,
    page: 'La pagina del Suo ordine ne mostra lo stato.',
    footer:
      'Questo indirizzo è stato indicato con l’ordine. Se non l’ha indicato Lei, ignori questa e-mail.',
  },
  nl: {
    seenTitle: (price, shop) => `Betaling gezien: ${price} (${shop})`,
    seen: (shop) =>
      `Er is een betaling voor uw bestelling bij ${shop} gezien. Die is nog niet definitief.`,
    paidTitle: (price, shop) => `Betaald: ${price} (${shop})`,
    paid: (shop) => `Uw bestelling bij ${shop} is betaald.`,
    arrivedByLightning: (shop) =>
      `Er is een Lightning-betaling voor uw bestelling bij ${shop} aangekomen. De bestelling is nog niet volledig betaald.`,
    paidByLightning: (shop) => `Uw bestelling bij ${shop} is met Lightning betaald.`,
    page: 'De pagina van uw bestelling toont de stand.',
    footer: 'Dit adres is bij de bestelling opgegeven. Was u dat niet, negeer deze e-mail dan.',
  },
  cs: {
    seenTitle: (price, shop) => `Platba zaznamenána: ${price} (${shop})`,
    seen: (shop) => `Zaznamenali jsme platbu za vaši objednávku (${shop}). Zatím není konečná.`,
    paidTitle: (price, shop) => `Zaplaceno: ${price} (${shop})`,
    paid: (shop) => `Vaše objednávka (${shop}) je zaplacena.`,
    arrivedByLightning: (shop) =>
      `Dorazila platba přes Lightning za vaši objednávku (${shop}). Objednávka zatím není zcela zaplacena.`,
    paidByLightning: (shop) => `Vaše objednávka (${shop}) byla zaplacena přes Lightning.`,
    page: 'Stav ukazuje stránka vaší objednávky.',
    footer: 'Tato adresa byla uvedena u objednávky. Pokud jste ji nezadali vy, e-mail ignorujte.',
  },
  pl: {
    seenTitle: (price, shop) => `Płatność zauważona: ${price} (${shop})`,
    seen: (shop) => `Zauważono płatność za zamówienie (${shop}). Nie jest jeszcze ostateczna.`,
    paidTitle: (price, shop) => `Zapłacono: ${price} (${shop})`,
    paid: (shop) => `Zamówienie (${shop}) jest opłacone.`,
    arrivedByLightning: (shop) =>
      `Dotarła płatność Lightning za zamówienie (${shop}). Zamówienie nie jest jeszcze w pełni opłacone.`,
    paidByLightning: (shop) => `Zamówienie (${shop}) zostało opłacone przez Lightning.`,
    page: 'Strona zamówienia pokazuje jego stan.',
    footer: 'Ten adres podano przy zamówieniu. Jeśli to pomyłka, proszę zignorować tę wiadomość.',
  },
  ja: {
    seenTitle: (price, shop) => `お支払いを検出しました：${price}（${shop}）`,
    seen: (shop) => `${shop} でのご注文へのお支払いを検出しました。まだ確定していません。`,
    paidTitle: (price, shop) => `お支払い完了：${price}（${shop}）`,
    paid: (shop) => `${shop} でのご注文のお支払いが完了しました。`,
    arrivedByLightning: (shop) =>
      `${shop} でのご注文へのLightningでのお支払いが届きました。ご注文のお支払いはまだ完了していません。`,
    paidByLightning: (shop) => `${shop} でのご注文はLightningでお支払いいただきました。`,
    page: 'ご注文のページで状況をご覧いただけます。',
    footer:
      'このメールアドレスはご注文の際に入力されました。お心当たりがない場合は、このメールを無視してください。',
  },
  ar: {
    seenTitle: (price, shop) => `تم رصد الدفعة: ${price} (${shop})`,
    seen: (shop) => `تم رصد دفعة لطلبك لدى ${shop}. وهي ليست نهائية بعد.`,
    paidTitle: (price, shop) => `تم الدفع: ${price} (${shop})`,
    paid: (shop) => `تم دفع طلبك لدى ${shop}.`,
    arrivedByLightning: (shop) =>
      `وصلت دفعة عبر Lightning لطلبك لدى ${shop}. لم يُدفع الطلب بالكامل بعد.`,
    paidByLightning: (shop) => `تم دفع طلبك لدى ${shop} عبر Lightning.`,
    page: 'تعرض صفحة طلبك حالته.',
    footer: 'أُدخل هذا العنوان مع الطلب. إن لم تكن أنت من أدخله، فتجاهل هذه الرسالة.',
  },
};
