// The texts of the pages for customers, in French. A narrow no-break space, \u202F, stands before
// a colon.

import { formatsOf } from './language-formats.ts';
import type { Words } from './words.ts';

const { number, plural } = formatsOf('fr');

export const fr: Words = {
  language: 'Langue',
  languageIs: (name) => `Langue\u202F: ${name}`,
  copied: 'Copié',
  orderStates: {
    open: 'En attente de votre paiement',
    processing: 'En cours de traitement',
    paid: 'Payée',
    expired: 'Expirée',
    canceled: 'Annulée',
  },
  paymentStates: {
    seen: 'Détecté',
    confirming: 'En cours de confirmation',
    confirmed: 'Confirmé',
    gone: 'Non abouti',
  },
  now: {
    pay: 'Scannez le code avec votre portefeuille, ou ouvrez votre portefeuille avec le bouton ci-dessous, puis envoyez le montant.',
    payMissing: (arrived, missing) =>
      `${arrived} sont arrivés. Payez les ${missing} manquants à la même adresse.`,
    payAgain:
      'Consultez votre portefeuille avant de payer de nouveau. S’il indique encore ce paiement comme envoyé, attendez.',
    renewPrice: 'Le prix n’est plus valable. Affichez le prix actuel avant de payer.',
    renewPriceAgain:
      'Consultez votre portefeuille avant de payer de nouveau. S’il indique encore ce paiement comme envoyé, attendez. Sinon, affichez d’abord le prix actuel.',
    undecided: (arrived) =>
      `${arrived} sont arrivés alors que le prix n’était plus valable. Ne payez pas de nouveau\u202F: attendez, ou contactez la boutique.`,
    timeIsOver: 'Le délai de paiement est écoulé. Ne payez plus.',
    wait: 'Votre paiement est arrivé. Vous n’avez plus rien à faire\u202F: il est en attente de confirmation.',
    done: 'Merci. Vous n’avez plus rien à faire, et cette page est votre reçu.',
    expired: 'Ne payez plus.',
    expiredWithMoney: (arrived) =>
      `${arrived} sont arrivés, mais cela ne suffit pas. Ne payez plus\u202F: contactez la boutique, qui peut accepter ce montant ou vous le rembourser.`,
    expiredAfterFall:
      'Le délai de paiement est écoulé. Ne payez pas de nouveau\u202F: demandez une nouvelle commande à la boutique si vous la souhaitez toujours.',
    canceled: 'La boutique a annulé cette commande. Ne payez pas.',
    canceledWithMoney: (arrived) =>
      `La boutique a annulé cette commande. ${arrived} sont arrivés. Ne payez plus\u202F: demandez à la boutique de vous rembourser.`,
    arrived: (arrived) => `${arrived} sont arrivés.`,
    foundByItself:
      'Si vous avez déjà payé, vous n’avez rien à faire\u202F: le paiement sera trouvé automatiquement.',
    fellAway: 'Votre paiement n’a pas abouti\u202F: la boutique ne l’a pas reçu.',
    cameLate:
      'Votre paiement est arrivé en retard\u202F: la boutique vérifiera peut-être la commande avant de la livrer.',
    paidTooMuch: (excess) => `Vous avez payé ${excess} de trop\u202F: contactez la boutique.`,
    tooLittleMissing: (missing) =>
      `Il ne manque que ${missing}\u202F: trop peu pour être envoyé. La boutique est priée de l’accepter, et vous n’avez rien à faire.`,
    paidAgain: (excess) =>
      `La commande était déjà payée, et ${excess} sont arrivés en plus\u202F: demandez à la boutique de vous les rembourser.`,
    refunded: (amount) => `La boutique a remboursé ${amount}.`,
  },
  late: 'En retard',
  shortBy: (amount) => `Il manque ${amount}`,
  overBy: (amount) => `${amount} de trop`,
  discount: (percent) => `Remise de ${percent}`,
  surcharge: (percent) => `Supplément de ${percent}`,
  pay: {
    payment: 'Paiement',
    openWallet: 'Ouvrir dans un portefeuille',
    copyAddress: 'Copier l’adresse',
    copyAmount: 'Copier le montant',
    copyInvoice: 'Copier la facture Lightning',
    payAgain: 'Payer à nouveau',
    qrCode: 'Code QR de l’adresse et du montant',
    qrCodeOfInvoice: 'Code QR de la facture Lightning',
    qrCodeOfAddress: 'Code QR de l’adresse, sans le montant',
    addressAlone: 'Code QR de l’adresse seule',
    priceHoldsUntil: (time) => `Prix valable jusqu’au ${time}`,
    payUntil: (time) => `À payer jusqu’au ${time}`,
    timeLeft: 'Temps restant\u202F:',
    showPriceNow: 'Afficher le prix actuel',
    leaves: (time) => `Retour à la boutique dans ${time}.`,
    backTo: (shop) => `Retour à ${shop}`,
  },
  facts: {
    order: 'Commande',
    description: 'Description',
    reference: 'Référence',
    amount: 'Montant',
    price: 'Prix',
    rate: 'Cours',
    received: 'Reçu',
    overBy: 'Payé en trop',
    ordered: 'Commandé le',
    paid: 'Payé le',
    payments: 'Paiements',
    payment: 'Paiement',
    state: 'État',
    seen: 'Détecté le',
    transaction: 'Transaction',
    address: 'À l’adresse',
    confirmations: 'Confirmations',
    refunded: 'Remboursé',
    shopAddress: 'Boutique',
    contact: 'Contact de la boutique',
  },
  refund: {
    offered: (amount) =>
      `La boutique rembourse ${amount}. Saisissez ci-dessous une adresse de votre propre portefeuille.`,
    prepared: (amount) => `La boutique a votre adresse et y envoie ${amount}.`,
    address: 'Votre adresse Bitcoin',
    hint: 'Copiez-la depuis votre portefeuille, là où il reçoit. Elle ne pourra plus être modifiée ici.',
    send: 'Envoyer l’adresse à la boutique',
    wrong:
      'Ce n’est pas une adresse qui peut être payée. Copiez-la de nouveau depuis votre portefeuille.',
    own: 'C’est une adresse de la boutique. Copiez-en une depuis votre propre portefeuille.',
    states: { prepared: 'En préparation', sent: 'Envoyé' },
  },
  claim: {
    title: 'J’ai payé',
    txid: 'Identifiant de transaction, si votre portefeuille l’affiche',
    ask: 'Chercher mon paiement',
    seen: (ago) => `Votre paiement a été vu ${ago}.`,
    seenNow: 'Votre paiement vient d’être vu.',
    blocks: (have, need, left) =>
      `Il est dans ${have} blocs sur ${need}\u202F: encore environ ${left}.`,
    tooLittle: (amount) => `Il manque ${amount}.`,
    elsewhere:
      'Cette transaction paie une autre adresse. Comparez l’adresse dans votre portefeuille avec celle de cette page.',
    justNow:
      'Cette transaction paie cette commande. Elle vient d’être vue, et cette page va l’afficher.',
    unseen:
      'Nos serveurs n’ont pas encore vu votre paiement. Si votre portefeuille l’indique comme envoyé, demandez de nouveau dans quelques minutes.',
    later: 'La recherche est impossible pour l’instant. Demandez de nouveau dans une minute.',
    wrong:
      'Ce n’est pas un identifiant de transaction. Il comporte 64 chiffres et lettres de a à f.',
    byLightning: 'Votre paiement Lightning est arrivé et il est définitif.',
    unpaidInvoice:
      'Le nœud Lightning de la boutique ne l’a pas encore reçu. Si votre portefeuille l’indique comme payé, demandez de nouveau dans une minute.',
    foreignInvoice:
      'Cette facture n’est pas celle de cette commande. Comparez-la avec celle de cette page.',
  },
  rateOf: (price, bitcoin) => `${price} pour ${bitcoin}`,
  newestPayments: (shown) =>
    plural(shown, {
      one: 'Le paiement le plus récent est affiché. Les totaux les comptent tous.',
      other: `Les ${number(shown)} paiements les plus récents sont affichés. Les totaux les comptent tous.`,
    }),
  receipt: {
    title: 'Reçu',
    seen: 'Votre paiement a été détecté. Vous n’avez rien à faire\u202F: il est en attente de sa première confirmation.',
    confirming:
      'Votre paiement est dans un bloc. Vous n’avez rien à faire\u202F: il est en attente d’autres confirmations.',
    confirmed: 'Votre paiement est confirmé. Cette page est votre reçu.',
    gone: 'Votre paiement n’a pas abouti\u202F: la boutique ne l’a pas reçu. Consultez votre portefeuille avant de payer de nouveau.',
    toOrder: 'Afficher la commande',
    unknown:
      'Ce paiement n’est pas connu ici. S’il vient d’être effectué, rechargez cette page dans une minute.',
    unnamed:
      'Ce lien ne désigne aucun paiement\u202F: une partie manque ou a été modifiée. Ouvrez-le de nouveau là où la boutique l’affiche.',
  },
  link: {
    pay: 'Payer',
    payWithBitcoin: 'Payer en bitcoin',
    amountIn: (currency) => `Montant en ${currency}`,
    suggestions: 'Montants suggérés',
    atLeast: (least) => `Au moins ${least}`,
    atMost: (most) => `Au plus ${most}`,
    between: (least, most) => `De ${least} à ${most}`,
    note: 'Message à la boutique',
    optional: 'facultatif',
    noteHint: 'Une ligne, par exemple votre nom ou un numéro.',
    email: 'Adresse e-mail (facultatif)',
    emailHint:
      'Vous recevez un e-mail lorsque votre paiement est vu, et un autre lorsque la commande est payée. La boutique voit aussi l’adresse.',
    closed: {
      title: 'Ce lien est fermé',
      text: 'Les paiements ne sont plus acceptés ici. Ne payez pas\u202F: demandez un autre lien à la boutique.',
    },
    missingAmount: 'Saisissez le montant que vous souhaitez payer.',
    wrongAmount: (example) => `Saisissez le montant sous forme de nombre, par exemple ${example}.`,
    tooSmall: (least) =>
      `Ce montant est trop petit pour un paiement en bitcoin. Payez au moins ${least}.`,
    missingNote: 'Saisissez un message\u202F: la boutique le demande.',
    longNote: (maxCharacters) =>
      plural(maxCharacters, {
        one: 'Le message peut compter un caractère au maximum.',
        other: `Le message peut compter ${number(maxCharacters)} caractères au maximum.`,
      }),
    wrongEmail: (example) =>
      `Saisissez une seule adresse e-mail, par exemple ${example}, ou laissez ce champ vide.`,
    manyEmails:
      'Votre réseau a déjà indiqué autant d’adresses e-mail qu’il le peut en un jour. Laissez ce champ vide\u202F: la page de votre commande montre votre paiement.',
    privateKey:
      'Cela ressemble à une clé privée ou à des mots de récupération. Ne les saisissez jamais dans une page\u202F: qui les possède a votre argent.',
  },
  till: {
    keypad: 'Pavé numérique',
    deleteDigit: 'Effacer le dernier chiffre',
    wholeUnits: 'Unités entières seulement',
    charge: 'Encaisser',
    waiting: 'En attente du paiement',
    next: 'Suivant',
    cancel: 'Annuler la vente',
    sales: 'Ventes du jour',
    seen: 'Vu, pas encore définitif',
    letGo: 'Montant assez petit\u202F: le client peut partir.',
    waitForBlock: 'Faites attendre une confirmation au client.',
    offline: 'Cet appareil est hors ligne. Ce qu’il affiche est peut-être ancien.',
    useAs: (name) => `Utiliser cet appareil comme ${name}`,
    pair: {
      title: 'Ajouter cet appareil comme caisse',
      text: 'Il peut encaisser et voir ses propres ventes. Il ne voit ni clé, ni portefeuille, ni réglage.',
    },
    noTill: {
      title: 'Cet appareil n’est pas une caisse',
      text: 'Ajoutez une caisse dans le tableau de bord, puis scannez son code avec cet appareil.',
    },
    codeOver: {
      title: 'Ce code n’est plus valable',
      text: 'Il sert une fois, pendant 15 minutes. Créez-en un nouveau dans le tableau de bord.',
    },
    notCanceled: {
      title: 'La vente n’est pas annulée',
      text: 'Elle est payée ou terminée. Regardez les ventes du jour.',
    },
  },
  errors: {
    unknownOrder: {
      title: 'Cette commande n’existe pas',
      text: 'Rien n’est connu sous ce lien. Ouvrez-le de nouveau là où la boutique l’affiche, ou contactez la boutique.',
    },
    unknownLink: {
      title: 'Cette page n’existe pas',
      text: 'Rien n’est connu sous ce lien. Ouvrez-le de nouveau là où la boutique l’affiche, ou contactez la boutique.',
    },
    limited: {
      title: 'Veuillez patienter',
      text: 'Trop de requêtes sont venues de votre réseau. Chargez la page dans une minute.',
    },
    foreignForm: {
      title: 'Cela n’a pas fonctionné',
      text: 'Ouvrez la page de nouveau et utilisez son bouton.',
    },
    noPrice: {
      title: 'Pas de prix pour le moment',
      text: 'Le prix actuel ne peut pas être obtenu. Rien n’est perdu\u202F: attendez une minute, puis réessayez. Ne payez pas avant.',
    },
    gap: {
      title: 'Veuillez contacter la boutique',
      text: 'La boutique ne peut pas recevoir de paiement par ce lien pour le moment. Ne payez pas\u202F: contactez la boutique.',
    },
    network: {
      title: 'Trop de commandes impayées',
      text: 'Plusieurs commandes de votre réseau attendent un paiement. Payez l’une d’elles, utilisez un autre réseau, par exemple les données mobiles, ou contactez la boutique.',
    },
    unexpected: {
      title: 'Cela n’a pas fonctionné',
      text: 'Rechargez la page dans une minute. Si le problème persiste, signalez-le à la boutique.',
    },
    backToOrder: 'Retour à la commande',
    back: 'Retour',
  },
};
