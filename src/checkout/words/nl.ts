// The texts of the pages for customers, in Dutch.

import { formatsOf } from './language-formats.ts';
import type { Words } from './words.ts';

const { number, plural } = formatsOf('nl');

export const nl: Words = {
  language: 'Taal',
  languageIs: (name) => `Taal: ${name}`,
  copied: 'Gekopieerd',
  orderStates: {
    open: 'Wacht op uw betaling',
    processing: 'In behandeling',
    paid: 'Betaald',
    expired: 'Verlopen',
    canceled: 'Geannuleerd',
  },
  paymentStates: {
    seen: 'Gezien',
    confirming: 'Wordt bevestigd',
    confirmed: 'Bevestigd',
    gone: 'Vervallen',
  },
  now: {
    pay: 'Scan de code met uw wallet, of open uw wallet met de knop hieronder, en verstuur het bedrag.',
    payMissing: (arrived, missing) =>
      `Er is ${arrived} aangekomen. Betaal de ontbrekende ${missing} aan hetzelfde adres.`,
    payAgain:
      'Kijk in uw wallet voordat u nog een keer betaalt. Staat die betaling daar nog als verzonden, wacht dan.',
    renewPrice: 'De prijs is niet meer geldig. Laat de huidige prijs tonen voordat u betaalt.',
    renewPriceAgain:
      'Kijk in uw wallet voordat u nog een keer betaalt. Staat die betaling daar nog als verzonden, wacht dan. Laat anders eerst de huidige prijs tonen.',
    undecided: (arrived) =>
      `Er is ${arrived} aangekomen toen de prijs niet meer geldig was. Betaal niet nog een keer: wacht, of vraag het de winkel.`,
    timeIsOver: 'De tijd om te betalen is voorbij. Betaal niet meer.',
    wait: 'Uw betaling is aangekomen. U hoeft niets meer te doen: de betaling wacht op bevestiging.',
    done: 'Dank u wel. U hoeft niets meer te doen, en deze pagina is uw betaalbewijs.',
    expired: 'Betaal niet meer.',
    expiredWithMoney: (arrived) =>
      `Er is ${arrived} aangekomen, maar dat is niet genoeg. Betaal niet meer: vraag het de winkel, die het bedrag kan accepteren of terugbetalen.`,
    expiredAfterFall:
      'De tijd om te betalen is voorbij. Betaal niet nog een keer: vraag de winkel om een nieuwe bestelling als u die nog wilt.',
    canceled: 'De winkel heeft deze bestelling geannuleerd. Betaal niet.',
    canceledWithMoney: (arrived) =>
      `De winkel heeft deze bestelling geannuleerd. Er is ${arrived} aangekomen. Betaal niet meer: vraag de winkel om het bedrag terug te betalen.`,
    arrived: (arrived) => `Er is ${arrived} aangekomen.`,
    foundByItself:
      'Als u al hebt betaald, hoeft u niets te doen: de betaling wordt vanzelf gevonden.',
    fellAway: 'Uw betaling is vervallen: de winkel heeft die niet ontvangen.',
    cameLate:
      'Uw betaling kwam laat, dus de winkel bekijkt de bestelling misschien voordat er geleverd wordt.',
    paidTooMuch: (excess) => `U hebt ${excess} te veel betaald: vraag de winkel ernaar.`,
    tooLittleMissing: (missing) =>
      `Er ontbreekt maar ${missing}: te weinig om te versturen. De winkel wordt gevraagd dit te accepteren. U hoeft niets te doen.`,
    paidAgain: (excess) =>
      `De bestelling was al betaald, en er kwam nog ${excess} bij: vraag de winkel dit terug te betalen.`,
    refunded: (amount) => `De winkel heeft ${amount} terugbetaald.`,
  },
  late: 'Te laat',
  shortBy: (amount) => `${amount} te weinig`,
  overBy: (amount) => `${amount} te veel`,
  discount: (percent) => `${percent} korting`,
  surcharge: (percent) => `${percent} toeslag`,
  pay: {
    payment: 'Betaling',
    openWallet: 'Openen in een wallet',
    copyAddress: 'Adres kopiëren',
    copyAmount: 'Bedrag kopiëren',
    copyInvoice: 'Lightning-factuur kopiëren',
    payAgain: 'Opnieuw betalen',
    qrCode: 'QR-code van het adres en het bedrag',
    qrCodeOfInvoice: 'QR-code van de Lightning-factuur',
    qrCodeOfAddress: 'QR-code van het adres, zonder het bedrag',
    addressAlone: 'QR-code van alleen het adres',
    priceHoldsUntil: (time) => `De prijs geldt tot ${time}`,
    payUntil: (time) => `Te betalen tot ${time}`,
    timeLeft: 'Resterende tijd:',
    showPriceNow: 'Huidige prijs tonen',
    leaves: (time) => `Over ${time} gaat u terug naar de winkel.`,
    backTo: (shop) => `Terug naar ${shop}`,
  },
  facts: {
    order: 'Bestelling',
    description: 'Omschrijving',
    reference: 'Kenmerk',
    amount: 'Bedrag',
    price: 'Prijs',
    rate: 'Koers',
    received: 'Ontvangen',
    overBy: 'Te veel betaald',
    ordered: 'Besteld op',
    paid: 'Betaald op',
    payments: 'Betalingen',
    payment: 'Betaling',
    state: 'Status',
    seen: 'Gezien op',
    transaction: 'Transactie',
    address: 'Aan adres',
    confirmations: 'Bevestigingen',
    refunded: 'Terugbetaald',
    shopAddress: 'Winkel',
    contact: 'Contact met de winkel',
  },
  refund: {
    offered: (amount) =>
      `De winkel betaalt ${amount} terug. Vul hieronder een adres van uw eigen wallet in.`,
    prepared: (amount) => `De winkel heeft uw adres en stuurt daar ${amount} naartoe.`,
    address: 'Uw bitcoinadres',
    hint: 'Kopieer het uit “Ontvangen” in uw wallet. Het kan hier daarna niet meer worden gewijzigd.',
    send: 'Adres naar de winkel sturen',
    wrong: 'Dit is geen adres waaraan kan worden betaald. Kopieer het opnieuw uit uw wallet.',
    own: 'Dit is een adres van de winkel. Kopieer er een uit uw eigen wallet.',
    states: { prepared: 'In voorbereiding', sent: 'Verzonden' },
  },
  claim: {
    title: 'Ik heb betaald',
    txid: 'Transactie-id, als uw wallet die toont',
    ask: 'Mijn betaling zoeken',
    seen: (ago) => `Uw betaling is ${ago} gezien.`,
    seenNow: 'Uw betaling is zojuist gezien.',
    blocks: (have, need, left) => `Ze zit in ${have} van ${need} blokken: nog ongeveer ${left}.`,
    tooLittle: (amount) => `Dat is ${amount} te weinig.`,
    elsewhere:
      'Deze transactie betaalt een ander adres. Vergelijk het adres in uw wallet met dat op deze pagina.',
    justNow:
      'Deze transactie betaalt deze bestelling. Ze is zojuist gezien, en deze pagina toont haar zo meteen.',
    unseen:
      'Onze servers hebben uw betaling nog niet gezien. Als uw wallet haar als verzonden toont, vraag het dan over enkele minuten opnieuw.',
    later: 'Dit kan nu niet worden opgezocht. Vraag het over een minuut opnieuw.',
    wrong: 'Dit is geen transactie-id. Die heeft 64 cijfers en letters van a tot f.',
    byLightning: 'Uw Lightning-betaling is aangekomen en definitief.',
    unpaidInvoice:
      'De Lightning-node van de winkel heeft haar nog niet ontvangen. Als uw wallet haar als betaald toont, vraag het dan over een minuut opnieuw.',
    foreignInvoice:
      'Deze factuur hoort niet bij deze bestelling. Vergelijk haar met die op deze pagina.',
  },
  rateOf: (price, bitcoin) => `${price} voor ${bitcoin}`,
  newestPayments: (shown) =>
    plural(shown, {
      one: 'De nieuwste betaling wordt getoond. In de totalen tellen alle betalingen mee.',
      other: `De nieuwste ${number(shown)} betalingen worden getoond. In de totalen tellen alle betalingen mee.`,
    }),
  receipt: {
    title: 'Betaalbewijs',
    seen: 'Uw betaling is gezien. U hoeft niets te doen: de betaling wacht op de eerste bevestiging.',
    confirming:
      'Uw betaling staat in een blok. U hoeft niets te doen: de betaling wacht op meer bevestigingen.',
    confirmed: 'Uw betaling is bevestigd. Deze pagina is uw betaalbewijs.',
    gone: 'Uw betaling is vervallen: de winkel heeft die niet ontvangen. Kijk in uw wallet voordat u nog een keer betaalt.',
    toOrder: 'Bestelling tonen',
    unknown:
      'Deze betaling is hier niet bekend. Is ze zojuist gedaan, laad deze pagina dan over een minuut opnieuw.',
    unnamed:
      'Deze link noemt geen betaling: er ontbreekt een deel, of een deel is gewijzigd. Open hem opnieuw waar de winkel hem toont.',
  },
  link: {
    pay: 'Betalen',
    payWithBitcoin: 'Betalen met bitcoin',
    amountIn: (currency) => `Bedrag in ${currency}`,
    suggestions: 'Voorgestelde bedragen',
    atLeast: (least) => `Minimaal ${least}`,
    atMost: (most) => `Maximaal ${most}`,
    between: (least, most) => `Van ${least} tot en met ${most}`,
    note: 'Bericht aan de winkel',
    optional: 'niet verplicht',
    noteHint: 'Eén regel, bijvoorbeeld uw naam of een nummer.',
    email: 'E-mailadres (niet verplicht)',
    emailHint:
      'U krijgt een e-mail als uw betaling is gezien, en een als de bestelling is betaald. Ook de winkel ziet het adres.',
    closed: {
      title: 'Deze link is gesloten',
      text: 'Hier worden geen betalingen meer aangenomen. Betaal niet: vraag de winkel om een andere link.',
    },
    missingAmount: 'Vul het bedrag in dat u wilt betalen.',
    wrongAmount: (example) => `Vul het bedrag in als getal, bijvoorbeeld ${example}.`,
    tooSmall: (least) => `Dit is te weinig voor een bitcoinbetaling. Betaal minimaal ${least}.`,
    missingNote: 'Vul een bericht in: de winkel vraagt erom.',
    longNote: (maxCharacters) =>
      plural(maxCharacters, {
        one: 'Het bericht mag maximaal één teken hebben.',
        other: `Het bericht mag maximaal ${number(maxCharacters)} tekens hebben.`,
      }),
    wrongEmail: (example) =>
      `Vul één e-mailadres in, bijvoorbeeld ${example}, of laat dit veld leeg.`,
    manyEmails:
      'Vanuit uw netwerk zijn al zoveel e-mailadressen opgegeven als op één dag mag. Laat dit veld leeg: de pagina van uw bestelling toont uw betaling.',
    privateKey:
      'Dit lijkt op een privésleutel of op herstelwoorden. Vul die nooit in op een pagina: wie ze heeft, heeft uw geld.',
  },
  till: {
    keypad: 'Cijfertoetsen',
    deleteDigit: 'Laatste cijfer wissen',
    wholeUnits: 'Alleen hele eenheden',
    charge: 'Afrekenen',
    waiting: 'Wachten op betaling',
    next: 'Volgende',
    cancel: 'Verkoop annuleren',
    sales: 'Verkopen van vandaag',
    seen: 'Gezien, nog niet definitief',
    letGo: 'Klein genoeg: de klant kan gaan.',
    waitForBlock: 'Laat de klant op een bevestiging wachten.',
    offline: 'Dit apparaat is offline. Wat het toont, kan verouderd zijn.',
    useAs: (name) => `Dit apparaat als ${name} gebruiken`,
    pair: {
      title: 'Dit apparaat als kassa toevoegen',
      text: 'Het kan afrekenen en zijn eigen verkopen zien. Het ziet geen sleutel, wallet of instelling.',
    },
    noTill: {
      title: 'Dit apparaat is geen kassa',
      text: 'Voeg in het dashboard een kassa toe en scan de code met dit apparaat.',
    },
    codeOver: {
      title: 'Deze code geldt niet meer',
      text: 'Hij werkt één keer en 15 minuten lang. Maak een nieuwe in het dashboard.',
    },
    notCanceled: {
      title: 'De verkoop is niet geannuleerd',
      text: 'Hij is betaald of afgelopen. Kijk bij de verkopen van vandaag.',
    },
  },
  errors: {
    unknownOrder: {
      title: 'Deze bestelling bestaat niet',
      text: 'Onder deze link is niets bekend. Open hem opnieuw waar de winkel hem toont, of vraag het de winkel.',
    },
    unknownLink: {
      title: 'Deze pagina bestaat niet',
      text: 'Onder deze link is niets bekend. Open hem opnieuw waar de winkel hem toont, of vraag het de winkel.',
    },
    limited: {
      title: 'Even wachten alstublieft',
      text: 'Er kwamen te veel verzoeken vanaf uw netwerk. Laad de pagina over een minuut.',
    },
    foreignForm: {
      title: 'Dat is niet gelukt',
      text: 'Open de pagina opnieuw en druk daar op de knop.',
    },
    noPrice: {
      title: 'Nu even geen prijs',
      text: 'De huidige prijs kan niet worden opgehaald. Er is niets verloren: wacht een minuut en probeer het opnieuw. Betaal niet eerder.',
    },
    gap: {
      title: 'Vraag het de winkel',
      text: 'De winkel kan op dit moment geen betaling via deze link aannemen. Betaal niet: vraag het de winkel.',
    },
    network: {
      title: 'Te veel onbetaalde bestellingen',
      text: 'Meerdere bestellingen van uw netwerk wachten op een betaling. Betaal er een, gebruik een ander netwerk, zoals mobiele data, of vraag het de winkel.',
    },
    unexpected: {
      title: 'Dat is niet gelukt',
      text: 'Laad de pagina over een minuut opnieuw. Blijft dit zo, meld het dan aan de winkel.',
    },
    backToOrder: 'Terug naar de bestelling',
    back: 'Terug',
  },
};
