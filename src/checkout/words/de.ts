// The texts of the pages for customers, in German.

import { formatsOf } from './language-formats.ts';
import type { Words } from './words.ts';

const { number, plural } = formatsOf('de');

export const de: Words = {
  language: 'Sprache',
  languageIs: (name) => `Sprache: ${name}`,
  copied: 'Kopiert',
  orderStates: {
    open: 'Wartet auf Ihre Zahlung',
    processing: 'In Bearbeitung',
    paid: 'Bezahlt',
    expired: 'Abgelaufen',
    canceled: 'Storniert',
  },
  paymentStates: {
    seen: 'Erkannt',
    confirming: 'Wird bestätigt',
    confirmed: 'Bestätigt',
    gone: 'Weggefallen',
  },
  now: {
    pay: 'Scannen Sie den Code mit Ihrer Wallet, oder öffnen Sie Ihre Wallet mit dem Knopf unten. Senden Sie dann den Betrag.',
    payMissing: (arrived, missing) =>
      `${arrived} sind angekommen. Zahlen Sie die fehlenden ${missing} an dieselbe Adresse.`,
    payAgain:
      'Sehen Sie in Ihrer Wallet nach, bevor Sie noch einmal zahlen. Zeigt sie die Zahlung weiterhin als gesendet, dann warten Sie.',
    renewPrice:
      'Der Preis gilt nicht mehr. Lassen Sie sich den aktuellen Preis anzeigen, bevor Sie zahlen.',
    renewPriceAgain:
      'Sehen Sie in Ihrer Wallet nach, bevor Sie noch einmal zahlen. Zeigt sie die Zahlung weiterhin als gesendet, dann warten Sie. Sonst lassen Sie sich zuerst den aktuellen Preis anzeigen.',
    undecided: (arrived) =>
      `${arrived} sind angekommen, als der Preis nicht mehr galt. Zahlen Sie nicht noch einmal: Warten Sie, oder fragen Sie den Shop.`,
    timeIsOver: 'Die Zeit zum Zahlen ist vorbei. Zahlen Sie nicht mehr.',
    wait: 'Ihre Zahlung ist angekommen. Sie müssen nichts mehr tun: Sie wartet auf ihre Bestätigung.',
    done: 'Vielen Dank. Sie müssen nichts mehr tun. Diese Seite ist Ihre Quittung.',
    expired: 'Zahlen Sie nicht mehr.',
    expiredWithMoney: (arrived) =>
      `${arrived} sind angekommen, aber das reicht nicht. Zahlen Sie nicht mehr: Fragen Sie den Shop. Er kann den Betrag annehmen oder zurückzahlen.`,
    expiredAfterFall:
      'Die Zeit zum Zahlen ist vorbei. Zahlen Sie nicht noch einmal: Bitten Sie den Shop um eine neue Bestellung, wenn Sie die Ware noch möchten.',
    canceled: 'Der Shop hat diese Bestellung storniert. Zahlen Sie nicht.',
    canceledWithMoney: (arrived) =>
      `Der Shop hat diese Bestellung storniert. ${arrived} sind angekommen. Zahlen Sie nicht mehr: Bitten Sie den Shop, den Betrag zurückzuzahlen.`,
    arrived: (arrived) => `${arrived} sind angekommen.`,
    foundByItself:
      'Wenn Sie schon gezahlt haben, müssen Sie nichts tun: Die Zahlung wird von selbst gefunden.',
    fellAway: 'Ihre Zahlung ist weggefallen: Der Shop hat sie nicht bekommen.',
    cameLate:
      'Ihre Zahlung kam verspätet an. Deshalb prüft der Shop die Bestellung vielleicht, bevor er liefert.',
    paidTooMuch: (excess) => `Sie haben ${excess} zu viel gezahlt: Fragen Sie den Shop danach.`,
    tooLittleMissing: (missing) =>
      `Es fehlen nur ${missing}: zu wenig, um es zu senden. Der Shop wird gebeten, das anzunehmen. Sie müssen nichts tun.`,
    paidAgain: (excess) =>
      `Die Bestellung war schon bezahlt, und ${excess} kamen noch einmal an: Bitten Sie den Shop, das zurückzuzahlen.`,
    refunded: (amount) => `Der Shop hat ${amount} zurückgezahlt.`,
  },
  late: 'Verspätet',
  shortBy: (amount) => `Es fehlen ${amount}`,
  overBy: (amount) => `${amount} zu viel`,
  discount: (percent) => `${percent} Rabatt`,
  surcharge: (percent) => `${percent} Aufschlag`,
  pay: {
    payment: 'Zahlung',
    openWallet: 'In einer Wallet öffnen',
    copyAddress: 'Adresse kopieren',
    copyAmount: 'Betrag kopieren',
    copyInvoice: 'Lightning-Rechnung kopieren',
    payAgain: 'Noch einmal zahlen',
    qrCode: 'QR-Code mit Adresse und Betrag',
    qrCodeOfInvoice: 'QR-Code der Lightning-Rechnung',
    qrCodeOfAddress: 'QR-Code der Adresse, ohne den Betrag',
    addressAlone: 'QR-Code nur mit der Adresse',
    priceHoldsUntil: (time) => `Der Preis gilt bis ${time}`,
    payUntil: (time) => `Zahlbar bis ${time}`,
    timeLeft: 'Verbleibende Zeit:',
    showPriceNow: 'Aktuellen Preis anzeigen',
    leaves: (time) => `In ${time} geht es zurück zum Shop.`,
    backTo: (shop) => `Zurück zu ${shop}`,
  },
  facts: {
    order: 'Bestellung',
    description: 'Beschreibung',
    reference: 'Referenz',
    amount: 'Betrag',
    price: 'Preis',
    rate: 'Kurs',
    received: 'Eingegangen',
    overBy: 'Zu viel gezahlt',
    ordered: 'Bestellt',
    paid: 'Bezahlt',
    payments: 'Zahlungen',
    payment: 'Zahlung',
    state: 'Status',
    seen: 'Erkannt',
    transaction: 'Transaktion',
    address: 'An Adresse',
    confirmations: 'Bestätigungen',
    refunded: 'Zurückgezahlt',
    shopAddress: 'Shop',
    contact: 'Kontakt zum Shop',
  },
  refund: {
    offered: (amount) =>
      `Der Shop zahlt ${amount} zurück. Geben Sie unten eine Adresse Ihrer eigenen Wallet ein.`,
    prepared: (amount) => `Der Shop hat Ihre Adresse und sendet ${amount} dorthin.`,
    address: 'Ihre Bitcoin-Adresse',
    hint: 'Kopieren Sie sie aus „Empfangen“ in Ihrer Wallet. Sie lässt sich hier danach nicht mehr ändern.',
    send: 'Adresse an den Shop senden',
    wrong:
      'Das ist keine Adresse, an die gezahlt werden kann. Kopieren Sie sie noch einmal aus Ihrer Wallet.',
    own: 'Das ist eine Adresse des Shops. Kopieren Sie eine aus Ihrer eigenen Wallet.',
    states: { prepared: 'In Vorbereitung', sent: 'Gesendet' },
  },
  claim: {
    title: 'Ich habe gezahlt',
    txid: 'Transaktions-ID, falls Ihre Wallet sie zeigt',
    ask: 'Nach meiner Zahlung suchen',
    seen: (ago) => `Ihre Zahlung wurde ${ago} gesehen.`,
    seenNow: 'Ihre Zahlung wurde soeben gesehen.',
    blocks: (have, need, left) => `Sie ist in ${have} von ${need} Blöcken: noch etwa ${left}.`,
    tooLittle: (amount) => `Es sind ${amount} zu wenig.`,
    elsewhere:
      'Diese Transaktion zahlt an eine andere Adresse. Vergleichen Sie die Adresse in Ihrer Wallet mit der auf dieser Seite.',
    justNow:
      'Diese Transaktion zahlt diese Bestellung. Sie wurde gerade eben gesehen, und diese Seite zeigt sie gleich.',
    unseen:
      'Unsere Server haben Ihre Zahlung noch nicht gesehen. Zeigt Ihre Wallet sie als gesendet, dann fragen Sie in einigen Minuten noch einmal.',
    later: 'Das lässt sich gerade nicht nachsehen. Fragen Sie in einer Minute noch einmal.',
    wrong: 'Das ist keine Transaktions-ID. Sie hat 64 Ziffern und Buchstaben von a bis f.',
    byLightning: 'Ihre Lightning-Zahlung ist angekommen und endgültig.',
    unpaidInvoice:
      'Der Lightning-Knoten des Shops hat sie noch nicht erhalten. Zeigt Ihre Wallet sie als bezahlt, dann fragen Sie in einer Minute noch einmal.',
    foreignInvoice:
      'Diese Rechnung gehört nicht zu dieser Bestellung. Vergleichen Sie sie mit der auf dieser Seite.',
  },
  rateOf: (price, bitcoin) => `${price} für ${bitcoin}`,
  newestPayments: (shown) =>
    plural(shown, {
      one: 'Die neueste Zahlung wird angezeigt. In den Summen sind alle enthalten.',
      other: `Die neuesten ${number(shown)} Zahlungen werden angezeigt. In den Summen sind alle enthalten.`,
    }),
  receipt: {
    title: 'Quittung',
    seen: 'Ihre Zahlung wurde erkannt. Sie müssen nichts tun: Sie wartet auf ihre erste Bestätigung.',
    confirming:
      'Ihre Zahlung steht in einem Block. Sie müssen nichts tun: Sie wartet auf weitere Bestätigungen.',
    confirmed: 'Ihre Zahlung ist bestätigt. Diese Seite ist Ihre Quittung.',
    gone: 'Ihre Zahlung ist weggefallen: Der Shop hat sie nicht bekommen. Sehen Sie in Ihrer Wallet nach, bevor Sie noch einmal zahlen.',
    toOrder: 'Bestellung anzeigen',
    unknown:
      'Diese Zahlung ist hier nicht bekannt. Wenn Sie eben erst gezahlt haben, laden Sie diese Seite in einer Minute neu.',
    unnamed:
      'Dieser Link nennt keine Zahlung: Ein Teil fehlt oder wurde verändert. Öffnen Sie ihn noch einmal dort, wo der Shop ihn zeigt.',
  },
  link: {
    pay: 'Bezahlen',
    payWithBitcoin: 'Mit Bitcoin bezahlen',
    amountIn: (currency) => `Betrag in ${currency}`,
    suggestions: 'Vorgeschlagene Beträge',
    atLeast: (least) => `Mindestens ${least}`,
    atMost: (most) => `Höchstens ${most}`,
    between: (least, most) => `Von ${least} bis ${most}`,
    note: 'Nachricht an den Shop',
    optional: 'freiwillig',
    noteHint: 'Eine Zeile, zum Beispiel Ihr Name oder eine Nummer.',
    email: 'E-Mail-Adresse (freiwillig)',
    emailHint:
      'Sie bekommen eine E-Mail, wenn Ihre Zahlung gesehen wurde, und eine, wenn die Bestellung bezahlt ist. Auch der Shop sieht die Adresse.',
    closed: {
      title: 'Dieser Link ist geschlossen',
      text: 'Hier werden keine Zahlungen mehr angenommen. Zahlen Sie nicht: Fragen Sie den Shop nach einem anderen Link.',
    },
    missingAmount: 'Geben Sie den Betrag ein, den Sie zahlen möchten.',
    wrongAmount: (example) => `Geben Sie den Betrag als Zahl ein, zum Beispiel ${example}.`,
    tooSmall: (least) =>
      `Das ist zu wenig für eine Zahlung mit Bitcoin. Zahlen Sie mindestens ${least}.`,
    missingNote: 'Geben Sie eine Nachricht ein: Der Shop verlangt sie.',
    longNote: (maxCharacters) =>
      plural(maxCharacters, {
        one: 'Die Nachricht darf höchstens ein Zeichen haben.',
        other: `Die Nachricht darf höchstens ${number(maxCharacters)} Zeichen haben.`,
      }),
    wrongEmail: (example) =>
      `Geben Sie eine einzige E-Mail-Adresse ein, zum Beispiel ${example}, oder lassen Sie dieses Feld leer.`,
    manyEmails:
      'Aus Ihrem Netz wurden innerhalb eines Tages so viele E-Mail-Adressen angegeben wie erlaubt. Lassen Sie dieses Feld leer: Die Seite Ihrer Bestellung zeigt Ihre Zahlung.',
    privateKey:
      'Das sieht wie ein privater Schlüssel oder wie Wiederherstellungswörter aus. Geben Sie sie nie auf einer Seite ein: Wer sie hat, hat Ihr Geld.',
  },
  till: {
    keypad: 'Zahlentastatur',
    deleteDigit: 'Letzte Ziffer löschen',
    wholeUnits: 'Nur ganze Einheiten',
    charge: 'Kassieren',
    waiting: 'Warten auf die Zahlung',
    next: 'Weiter',
    cancel: 'Verkauf abbrechen',
    sales: 'Verkäufe von heute',
    seen: 'Gesehen, noch nicht endgültig',
    letGo: 'Klein genug: Die Kundschaft kann gehen.',
    waitForBlock: 'Bitte auf eine Bestätigung warten lassen.',
    offline: 'Dieses Gerät ist offline. Die Anzeige kann veraltet sein.',
    useAs: (name) => `Dieses Gerät als ${name} verwenden`,
    pair: {
      title: 'Dieses Gerät als Kasse hinzufügen',
      text: 'Es kann kassieren und seine eigenen Verkäufe sehen. Es sieht keinen Schlüssel, keine Wallet und keine Einstellung.',
    },
    noTill: {
      title: 'Dieses Gerät ist keine Kasse',
      text: 'Fügen Sie im Dashboard eine Kasse hinzu und scannen Sie deren Code mit diesem Gerät.',
    },
    codeOver: {
      title: 'Dieser Code gilt nicht mehr',
      text: 'Er gilt einmal und 15 Minuten lang. Erstellen Sie im Dashboard einen neuen.',
    },
    notCanceled: {
      title: 'Der Verkauf ist nicht abgebrochen',
      text: 'Er ist bezahlt oder beendet. Sehen Sie in den Verkäufen von heute nach.',
    },
  },
  errors: {
    unknownOrder: {
      title: 'Diese Bestellung gibt es nicht',
      text: 'Zu diesem Link ist nichts bekannt. Öffnen Sie ihn noch einmal dort, wo der Shop ihn zeigt, oder fragen Sie den Shop.',
    },
    unknownLink: {
      title: 'Diese Seite gibt es nicht',
      text: 'Zu diesem Link ist nichts bekannt. Öffnen Sie ihn noch einmal dort, wo der Shop ihn zeigt, oder fragen Sie den Shop.',
    },
    limited: {
      title: 'Bitte warten',
      text: 'Aus Ihrem Netzwerk kamen zu viele Anfragen. Laden Sie die Seite in einer Minute.',
    },
    foreignForm: {
      title: 'Das hat nicht geklappt',
      text: 'Öffnen Sie die Seite noch einmal, und drücken Sie dort den Knopf.',
    },
    noPrice: {
      title: 'Im Moment kein Preis',
      text: 'Der aktuelle Preis ist nicht zu bekommen. Es ist nichts verloren: Warten Sie eine Minute, und versuchen Sie es noch einmal. Zahlen Sie nicht vorher.',
    },
    gap: {
      title: 'Bitte fragen Sie den Shop',
      text: 'Der Shop kann über diesen Link im Moment keine Zahlung annehmen. Zahlen Sie nicht: Fragen Sie den Shop.',
    },
    network: {
      title: 'Zu viele unbezahlte Bestellungen',
      text: 'Mehrere Bestellungen aus Ihrem Netz warten auf eine Zahlung. Bezahlen Sie eine davon, verwenden Sie ein anderes Netz, zum Beispiel mobile Daten, oder fragen Sie den Shop.',
    },
    unexpected: {
      title: 'Das hat nicht geklappt',
      text: 'Laden Sie die Seite in einer Minute neu. Wenn es so bleibt, sagen Sie es dem Shop.',
    },
    backToOrder: 'Zurück zur Bestellung',
    back: 'Zurück',
  },
};
