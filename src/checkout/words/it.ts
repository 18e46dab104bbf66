// The texts of the pages for customers, in Italian.

import { formatsOf } from './language-formats.ts';
import type { Words } from './words.ts';

const { number, plural } = formatsOf('it');

export const it: Words = {
  language: 'Lingua',
  languageIs: (name) => `Lingua: ${name}`,
  copied: 'Copiato',
  orderStates: {
    open: 'In attesa del Suo pagamento',
    processing: 'In elaborazione',
    paid: 'Pagato',
    expired: 'Scaduto',
    canceled: 'Annullato',
  },
  paymentStates: {
    seen: 'Rilevato',
    confirming: 'In attesa di conferme',
    confirmed: 'Confermato',
    gone: 'Non riuscito',
  },
  now: {
    pay: 'Scansioni il codice con il Suo portafoglio, oppure apra il portafoglio con il pulsante qui sotto, e invii l’importo.',
    payMissing: (arrived, missing) =>
      `Sono arrivati ${arrived}. Paghi allo stesso indirizzo i ${missing} mancanti.`,
    payAgain:
      'Controlli il Suo portafoglio prima di pagare di nuovo. Se mostra ancora quel pagamento come inviato, attenda.',
    renewPrice: 'Il prezzo non è più valido. Aggiorni il prezzo prima di pagare.',
    renewPriceAgain:
      'Controlli il Suo portafoglio prima di pagare di nuovo. Se mostra ancora quel pagamento come inviato, attenda. Altrimenti aggiorni prima il prezzo.',
    undecided: (arrived) =>
      `Sono arrivati ${arrived} quando il prezzo non era più valido. Non paghi di nuovo: attenda, oppure contatti il negozio.`,
    timeIsOver: 'Il tempo per pagare è scaduto. Non effettui più alcun pagamento.',
    wait: 'Il Suo pagamento è arrivato. Non deve fare altro: il pagamento è in attesa di conferma.',
    done: 'Grazie. Non deve fare altro, e questa pagina è la Sua ricevuta.',
    expired: 'Non effettui più alcun pagamento.',
    expiredWithMoney: (arrived) =>
      `Sono arrivati ${arrived}, ma non bastano. Non effettui più alcun pagamento: contatti il negozio, che può accettare l’importo o rimborsarlo.`,
    expiredAfterFall:
      'Il tempo per pagare è scaduto. Non paghi di nuovo: chieda al negozio un nuovo ordine se lo desidera ancora.',
    canceled: 'Il negozio ha annullato questo ordine. Non paghi.',
    canceledWithMoney: (arrived) =>
      `Il negozio ha annullato questo ordine. Sono arrivati ${arrived}. Non effettui più alcun pagamento: chieda al negozio di rimborsare l’importo.`,
    arrived: (arrived) => `Sono arrivati ${arrived}.`,
    foundByItself:
      'Se ha già pagato, non deve fare nulla: il pagamento viene trovato automaticamente.',
    fellAway: 'Il Suo pagamento non è andato a buon fine: il negozio non lo ha ricevuto.',
    cameLate:
      'Il Suo pagamento è arrivato in ritardo, perciò il negozio potrebbe controllare l’ordine prima di consegnarlo.',
    paidTooMuch: (excess) => `Ha pagato ${excess} in più: contatti il negozio.`,
    tooLittleMissing: (missing) =>
      `Mancano solo ${missing}: troppo poco per inviarlo. Si chiede al negozio di accettarlo, e Lei non deve fare nulla.`,
    paidAgain: (excess) =>
      `L’ordine era già pagato e sono arrivati altri ${excess}: chieda al negozio di restituirli.`,
    refunded: (amount) => `Il negozio ha restituito ${amount}.`,
  },
  late: 'In ritardo',
  shortBy: (amount) => `Mancano ${amount}`,
  overBy: (amount) => `${amount} in più`,
  discount: (percent) => `Sconto del ${percent}`,
  surcharge: (percent) => `Maggiorazione del ${percent}`,
  pay: {
    payment: 'Pagamento',
    openWallet: 'Apri in un portafoglio',
    copyAddress: 'Copia l’indirizzo',
    copyAmount: 'Copia l’importo',
    copyInvoice: 'Copia la fattura Lightning',
    payAgain: 'Pagare di nuovo',
    qrCode: 'Codice QR dell’indirizzo e dell’importo',
    qrCodeOfInvoice: 'Codice QR della fattura Lightning',
    qrCodeOfAddress: 'Codice QR dell’indirizzo, senza l’importo',
    addressAlone: 'Codice QR del solo indirizzo',
    priceHoldsUntil: (time) => `Prezzo valido fino al ${time}`,
    payUntil: (time) => `Da pagare entro il ${time}`,
    timeLeft: 'Tempo rimanente:',
    showPriceNow: 'Mostra il prezzo attuale',
    leaves: (time) => `Tornerà al negozio tra ${time}.`,
    backTo: (shop) => `Torna a ${shop}`,
  },
  facts: {
    order: 'Ordine',
    description: 'Descrizione',
    reference: 'Riferimento',
    amount: 'Importo',
    price: 'Prezzo',
    rate: 'Cambio',
    received: 'Ricevuto',
    overBy: 'Pagato in più',
    ordered: 'Ordinato il',
    paid: 'Pagato il',
    payments: 'Pagamenti',
    payment: 'Pagamento',
    state: 'Stato',
    seen: 'Rilevato il',
    transaction: 'Transazione',
    address: 'All’indirizzo',
    confirmations: 'Conferme',
    refunded: 'Restituito',
    shopAddress: 'Negozio',
    contact: 'Contatto del negozio',
  },
  refund: {
    offered: (amount) =>
      `Il negozio restituisce ${amount}. Inserisca qui sotto un indirizzo del Suo portafoglio.`,
    prepared: (amount) => `Il negozio ha il Suo indirizzo e vi invia ${amount}.`,
    address: 'Il Suo indirizzo Bitcoin',
    hint: 'Lo copi da “Ricevi” nel Suo portafoglio. Poi non potrà più essere modificato qui.',
    send: 'Invia l’indirizzo al negozio',
    wrong: 'Questo non è un indirizzo che si possa pagare. Lo copi di nuovo dal Suo portafoglio.',
    own: 'Questo è un indirizzo del negozio. Ne copi uno dal Suo portafoglio.',
    states: { prepared: 'In preparazione', sent: 'Inviato' },
  },
  claim: {
    title: 'Ho pagato',
    txid: 'ID della transazione, se il Suo portafoglio lo mostra',
    ask: 'Cerca il mio pagamento',
    seen: (ago) => `Il Suo pagamento è stato visto ${ago}.`,
    seenNow: 'Il Suo pagamento è stato appena visto.',
    blocks: (have, need, left) => `È in ${have} blocchi su ${need}: ancora circa ${left}.`,
    tooLittle: (amount) => `Mancano ${amount}.`,
    elsewhere:
      'Questa transazione paga un altro indirizzo. Confronti l’indirizzo nel Suo portafoglio con quello di questa pagina.',
    justNow:
      'Questa transazione paga questo ordine. È stata vista in questo momento, e questa pagina la mostrerà a breve.',
    unseen:
      'I nostri server non hanno ancora visto il Suo pagamento. Se il portafoglio lo mostra come inviato, chieda di nuovo tra qualche minuto.',
    later: 'Al momento la ricerca non è possibile. Chieda di nuovo tra un minuto.',
    wrong: 'Questo non è un ID di transazione. Ha 64 cifre e lettere dalla a alla f.',
    byLightning: 'Il Suo pagamento Lightning è arrivato ed è definitivo.',
    unpaidInvoice:
      'Il nodo Lightning del negozio non lo ha ancora ricevuto. Se il portafoglio lo mostra come pagato, chieda di nuovo tra un minuto.',
    foreignInvoice:
      'Questa fattura non è di questo ordine. La confronti con quella di questa pagina.',
  },
  rateOf: (price, bitcoin) => `${price} per ${bitcoin}`,
  newestPayments: (shown) =>
    plural(shown, {
      one: 'È mostrato il pagamento più recente. Le somme li comprendono tutti.',
      other: `Sono mostrati i ${number(shown)} pagamenti più recenti. Le somme li comprendono tutti.`,
    }),
  receipt: {
    title: 'Ricevuta',
    seen: 'Il Suo pagamento è stato rilevato. Non deve fare nulla: il pagamento è in attesa della prima conferma.',
    confirming:
      'Il Suo pagamento è in un blocco. Non deve fare nulla: il pagamento è in attesa di altre conferme.',
    confirmed: 'Il Suo pagamento è confermato. Questa pagina è la Sua ricevuta.',
    gone: 'Il Suo pagamento non è andato a buon fine: il negozio non lo ha ricevuto. Controlli il Suo portafoglio prima di pagare di nuovo.',
    toOrder: 'Mostra l’ordine',
    unknown:
      'Questo pagamento non è noto qui. Se è stato effettuato poco fa, ricarichi questa pagina tra un minuto.',
    unnamed:
      'Questo link non indica alcun pagamento: ne manca una parte o è stata modificata. Lo apra di nuovo dove il negozio lo mostra.',
  },
  link: {
    pay: 'Paga',
    payWithBitcoin: 'Paga con bitcoin',
    amountIn: (currency) => `Importo in ${currency}`,
    suggestions: 'Importi suggeriti',
    atLeast: (least) => `Almeno ${least}`,
    atMost: (most) => `Al massimo ${most}`,
    between: (least, most) => `Da ${least} a ${most}`,
    note: 'Nota per il negozio',
    optional: 'facoltativa',
    noteHint: 'Una riga, per esempio il Suo nome o un numero.',
    email: 'Indirizzo e-mail (facoltativo)',
    emailHint:
      'Riceverà un’e-mail quando il pagamento viene rilevato e un’altra quando l’ordine è pagato. Anche il negozio vede l’indirizzo.',
    closed: {
      title: 'Questo link è chiuso',
      text: 'Qui non si accettano più pagamenti. Non paghi: chieda al negozio un altro link.',
    },
    missingAmount: 'Inserisca l’importo che desidera pagare.',
    wrongAmount: (example) => `Inserisca l’importo come numero, per esempio ${example}.`,
    tooSmall: (least) =>
      `L’importo è troppo piccolo per un pagamento in bitcoin. Paghi almeno ${least}.`,
    missingNote: 'Inserisca una nota: il negozio la richiede.',
    longNote: (maxCharacters) =>
      plural(maxCharacters, {
        one: 'La nota può avere al massimo un carattere.',
        other: `La nota può avere al massimo ${number(maxCharacters)} caratteri.`,
      }),
    wrongEmail: (example) =>
      `Inserisca un solo indirizzo e-mail, per esempio ${example}, oppure lasci vuoto questo campo.`,
    manyEmails:
      'Dalla Sua rete sono già stati indicati tanti indirizzi e-mail quanti ne sono ammessi in un giorno. Lasci vuoto questo campo: la pagina del Suo ordine mostra il pagamento.',
    privateKey:
      'Sembra una chiave privata o un insieme di parole di recupero. Non le inserisca mai in una pagina: chi le possiede ha il Suo denaro.',
  },
  till: {
    keypad: 'Tastierino numerico',
    deleteDigit: 'Cancella l’ultima cifra',
    wholeUnits: 'Solo unità intere',
    charge: 'Incassa',
    waiting: 'In attesa del pagamento',
    next: 'Avanti',
    cancel: 'Annulla la vendita',
    sales: 'Vendite di oggi',
    seen: 'Visto, non ancora definitivo',
    letGo: 'Importo piccolo: il cliente può andare.',
    waitForBlock: 'Fai attendere al cliente una conferma.',
    offline: 'Questo dispositivo è offline. Ciò che mostra può essere vecchio.',
    useAs: (name) => `Usa questo dispositivo come ${name}`,
    pair: {
      title: 'Aggiungi questo dispositivo come cassa',
      text: 'Può incassare e vedere le proprie vendite. Non vede chiavi, portafogli o impostazioni.',
    },
    noTill: {
      title: 'Questo dispositivo non è una cassa',
      text: 'Aggiungi una cassa nella dashboard e scansiona il suo codice con questo dispositivo.',
    },
    codeOver: {
      title: 'Questo codice non vale più',
      text: 'Vale una volta e per 15 minuti. Creane uno nuovo nella dashboard.',
    },
    notCanceled: {
      title: 'La vendita non è annullata',
      text: 'È pagata o terminata. Guarda le vendite di oggi.',
    },
  },
  errors: {
    unknownOrder: {
      title: 'Questo ordine non esiste',
      text: 'Non si conosce nulla con questo link. Lo apra di nuovo dove il negozio lo mostra, oppure contatti il negozio.',
    },
    unknownLink: {
      title: 'Questa pagina non esiste',
      text: 'Non si conosce nulla con questo link. Lo apra di nuovo dove il negozio lo mostra, oppure contatti il negozio.',
    },
    limited: {
      title: 'Attenda, per favore',
      text: 'Dalla Sua rete sono arrivate troppe richieste. Carichi la pagina tra un minuto.',
    },
    foreignForm: {
      title: 'Non ha funzionato',
      text: 'Apra di nuovo la pagina e prema lì il pulsante.',
    },
    noPrice: {
      title: 'Nessun prezzo al momento',
      text: 'Il prezzo attuale non è disponibile. Nulla è andato perso: attenda un minuto, poi riprovi. Non paghi prima.',
    },
    gap: {
      title: 'Contatti il negozio, per favore',
      text: 'Il negozio non può accettare un pagamento con questo link al momento. Non paghi: contatti il negozio.',
    },
    network: {
      title: 'Troppi ordini non pagati',
      text: 'Più ordini dalla Sua rete attendono un pagamento. Ne paghi uno, usi un’altra rete, per esempio i dati mobili, o contatti il negozio.',
    },
    unexpected: {
      title: 'Non ha funzionato',
      text: 'Ricarichi la pagina tra un minuto. Se il problema rimane, avvisi il negozio.',
    },
    backToOrder: 'Torna all’ordine',
    back: 'Indietro',
  },
};
