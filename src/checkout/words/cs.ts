// The texts of the pages for customers, in Czech.

import { formatsOf } from './language-formats.ts';
import type { Words } from './words.ts';

const { number, plural } = formatsOf('cs');

export const cs: Words = {
  language: 'Jazyk',
  languageIs: (name) => `Jazyk: ${name}`,
  copied: 'Zkopírováno',
  orderStates: {
    open: 'Čeká se na vaši platbu',
    processing: 'Zpracovává se',
    paid: 'Zaplacená',
    expired: 'Vypršela',
    canceled: 'Zrušená',
  },
  paymentStates: {
    seen: 'Zaznamenaná',
    confirming: 'Potvrzuje se',
    confirmed: 'Potvrzená',
    gone: 'Zaniklá',
  },
  now: {
    pay: 'Naskenujte kód svou peněženkou, nebo peněženku otevřete tlačítkem níže, a odešlete částku.',
    payMissing: (arrived, missing) =>
      `Dorazila částka ${arrived}. Chybějící částku ${missing} pošlete na stejnou adresu.`,
    payAgain:
      'Než zaplatíte znovu, podívejte se do své peněženky. Pokud tuto platbu stále zobrazuje jako odeslanou, počkejte.',
    renewPrice: 'Cena už neplatí. Než zaplatíte, nechte si zobrazit aktuální cenu.',
    renewPriceAgain:
      'Než zaplatíte znovu, podívejte se do své peněženky. Pokud tuto platbu stále zobrazuje jako odeslanou, počkejte. Jinak si nejprve nechte zobrazit aktuální cenu.',
    undecided: (arrived) =>
      `Částka ${arrived} dorazila až po skončení platnosti ceny. Neplaťte znovu: počkejte, nebo se obraťte na obchod.`,
    timeIsOver: 'Čas na zaplacení vypršel. Už neplaťte.',
    wait: 'Vaše platba dorazila. Nemusíte už nic dělat: platba čeká na potvrzení.',
    done: 'Děkujeme. Nemusíte už nic dělat a tato stránka je vaší stvrzenkou.',
    expired: 'Už neplaťte.',
    expiredWithMoney: (arrived) =>
      `Dorazila částka ${arrived}, ale to nestačí. Už neplaťte: obraťte se na obchod, který ji může přijmout, nebo vrátit.`,
    expiredAfterFall:
      'Čas na zaplacení vypršel. Neplaťte znovu: pokud máte o objednávku stále zájem, požádejte obchod o novou.',
    canceled: 'Obchod tuto objednávku zrušil. Neplaťte.',
    canceledWithMoney: (arrived) =>
      `Obchod tuto objednávku zrušil. Dorazila částka ${arrived}. Už neplaťte: požádejte obchod o její vrácení.`,
    arrived: (arrived) => `Dorazila částka ${arrived}.`,
    foundByItself: 'Pokud jste už zaplatili, nemusíte nic dělat: platba se najde sama.',
    fellAway: 'Vaše platba zanikla: obchod ji neobdržel.',
    cameLate: 'Vaše platba dorazila pozdě, a tak obchod možná objednávku před dodáním zkontroluje.',
    paidTooMuch: (excess) => `Zaplatili jste o ${excess} více: obraťte se kvůli tomu na obchod.`,
    tooLittleMissing: (missing) =>
      `Chybí jen ${missing}: na odeslání je to příliš málo. Obchod je požádán, aby to přijal. Nemusíte nic dělat.`,
    paidAgain: (excess) =>
      `Objednávka už byla zaplacená a dorazilo ještě ${excess}: požádejte obchod o vrácení.`,
    refunded: (amount) => `Obchod vrátil ${amount}.`,
  },
  late: 'Opožděná',
  shortBy: (amount) => `Chybí ${amount}`,
  overBy: (amount) => `Navíc ${amount}`,
  discount: (percent) => `Sleva ${percent}`,
  surcharge: (percent) => `Přirážka ${percent}`,
  pay: {
    payment: 'Platba',
    openWallet: 'Otevřít v peněžence',
    copyAddress: 'Kopírovat adresu',
    copyAmount: 'Kopírovat částku',
    copyInvoice: 'Kopírovat fakturu Lightning',
    payAgain: 'Zaplatit znovu',
    qrCode: 'QR kód s adresou a částkou',
    qrCodeOfInvoice: 'QR kód faktury Lightning',
    qrCodeOfAddress: 'QR kód s adresou, bez částky',
    addressAlone: 'QR kód jen s adresou',
    priceHoldsUntil: (time) => `Cena platí do: ${time}`,
    payUntil: (time) => `Zaplaťte do: ${time}`,
    timeLeft: 'Zbývající čas:',
    showPriceNow: 'Zobrazit aktuální cenu',
    leaves: (time) => `Návrat do obchodu nastane za ${time}.`,
    backTo: (shop) => `Zpět: ${shop}`,
  },
  facts: {
    order: 'Objednávka',
    description: 'Popis',
    reference: 'Označení',
    amount: 'Částka',
    price: 'Cena',
    rate: 'Kurz',
    received: 'Přijato',
    overBy: 'Přeplatek',
    ordered: 'Objednáno',
    paid: 'Zaplaceno',
    payments: 'Platby',
    payment: 'Platba',
    state: 'Stav',
    seen: 'Zaznamenáno',
    transaction: 'Transakce',
    address: 'Na adresu',
    confirmations: 'Potvrzení',
    refunded: 'Vráceno',
    shopAddress: 'Obchod',
    contact: 'Kontakt na obchod',
  },
  refund: {
    offered: (amount) => `Obchod vrací ${amount}. Zadejte níže adresu ze své vlastní peněženky.`,
    prepared: (amount) => `Obchod má vaši adresu a posílá na ni ${amount}.`,
    address: 'Vaše bitcoinová adresa',
    hint: 'Zkopírujte ji z volby „Přijmout“ ve své peněžence. Potom ji zde už nelze změnit.',
    send: 'Odeslat adresu obchodu',
    wrong: 'Toto není adresa, na kterou lze zaplatit. Zkopírujte ji z peněženky znovu.',
    own: 'Toto je adresa obchodu. Zkopírujte adresu ze své vlastní peněženky.',
    states: { prepared: 'Připravuje se', sent: 'Odesláno' },
  },
  claim: {
    title: 'Už jsem zaplatil(a)',
    txid: 'ID transakce, pokud je peněženka ukazuje',
    ask: 'Najít moji platbu',
    seen: (ago) => `Vaše platba byla zaznamenána ${ago}.`,
    seenNow: 'Vaše platba byla právě zaznamenána.',
    blocks: (have, need, left) => `Je v blocích: ${have} z ${need}. Ještě asi ${left}.`,
    tooLittle: (amount) => `Je to o ${amount} méně.`,
    elsewhere:
      'Tato transakce platí na jinou adresu. Porovnejte adresu ve své peněžence s adresou na této stránce.',
    justNow:
      'Tato transakce platí tuto objednávku. Byla právě zaznamenána a tato stránka ji za chvíli ukáže.',
    unseen:
      'Naše servery vaši platbu zatím neviděly. Pokud ji peněženka ukazuje jako odeslanou, zeptejte se znovu za několik minut.',
    later: 'Teď to nelze zjistit. Zeptejte se znovu za minutu.',
    wrong: 'Toto není ID transakce. Má 64 číslic a písmen od a do f.',
    byLightning: 'Vaše platba přes Lightning dorazila a je konečná.',
    unpaidInvoice:
      'Lightning uzel obchodu ji zatím neobdržel. Pokud ji peněženka ukazuje jako zaplacenou, zeptejte se znovu za minutu.',
    foreignInvoice:
      'Tato faktura nepatří k této objednávce. Porovnejte ji s fakturou na této stránce.',
  },
  rateOf: (price, bitcoin) => `${price} za ${bitcoin}`,
  newestPayments: (shown) =>
    plural(shown, {
      one: 'Zobrazena je nejnovější platba. Součty zahrnují všechny.',
      few: `Zobrazeny jsou ${number(shown)} nejnovější platby. Součty zahrnují všechny.`,
      other: `Zobrazeno je ${number(shown)} nejnovějších plateb. Součty zahrnují všechny.`,
    }),
  receipt: {
    title: 'Stvrzenka',
    seen: 'Vaše platba byla zaznamenána. Nemusíte nic dělat: platba čeká na první potvrzení.',
    confirming: 'Vaše platba je v bloku. Nemusíte nic dělat: platba čeká na další potvrzení.',
    confirmed: 'Vaše platba je potvrzena. Tato stránka je vaší stvrzenkou.',
    gone: 'Vaše platba zanikla: obchod ji neobdržel. Než zaplatíte znovu, podívejte se do své peněženky.',
    toOrder: 'Zobrazit objednávku',
    unknown:
      'Taková platba tu není známa. Pokud byla odeslána před chvílí, načtěte tuto stránku znovu za minutu.',
    unnamed:
      'Tento odkaz neoznačuje žádnou platbu: jeho část chybí, nebo byla změněna. Otevřete ho znovu tam, kde ho obchod zobrazuje.',
  },
  link: {
    pay: 'Zaplatit',
    payWithBitcoin: 'Zaplatit bitcoinem',
    amountIn: (currency) => `Částka v ${currency}`,
    suggestions: 'Navrhované částky',
    atLeast: (least) => `Nejméně ${least}`,
    atMost: (most) => `Nejvýše ${most}`,
    between: (least, most) => `Od ${least} do ${most}`,
    note: 'Zpráva pro obchod',
    optional: 'nepovinné',
    noteHint: 'Jeden řádek, například vaše jméno nebo číslo.',
    email: 'E-mailová adresa (nepovinné)',
    emailHint:
      'Dostanete e-mail, až bude vaše platba zaznamenána, a další, až bude objednávka zaplacena. Adresu uvidí i obchod.',
    closed: {
      title: 'Tento odkaz je uzavřen',
      text: 'Platby se tu už nepřijímají. Neplaťte: požádejte obchod o jiný odkaz.',
    },
    missingAmount: 'Zadejte částku, kterou chcete zaplatit.',
    wrongAmount: (example) => `Zadejte částku jako číslo, například ${example}.`,
    tooSmall: (least) => `Na platbu bitcoinem je to příliš málo. Zaplaťte nejméně ${least}.`,
    missingNote: 'Napište zprávu: obchod ji vyžaduje.',
    longNote: (maxCharacters) =>
      plural(maxCharacters, {
        one: 'Zpráva smí mít nejvýše jeden znak.',
        few: `Zpráva smí mít nejvýše ${number(maxCharacters)} znaky.`,
        other: `Zpráva smí mít nejvýše ${number(maxCharacters)} znaků.`,
      }),
    wrongEmail: (example) =>
      `Zadejte jedinou e-mailovou adresu, například ${example}, nebo nechte toto pole prázdné.`,
    manyEmails:
      'Z vaší sítě už bylo během jednoho dne zadáno tolik e-mailových adres, kolik smí být. Nechte toto pole prázdné: platbu ukáže stránka vaší objednávky.',
    privateKey:
      'Vypadá to jako soukromý klíč nebo slova pro obnovu. Nikdy je nezadávejte na žádné stránce: kdo je má, má vaše peníze.',
  },
  till: {
    keypad: 'Číselná klávesnice',
    deleteDigit: 'Smazat poslední číslici',
    wholeUnits: 'Jen celé jednotky',
    charge: 'Naúčtovat',
    waiting: 'Čeká se na platbu',
    next: 'Další',
    cancel: 'Zrušit prodej',
    sales: 'Dnešní prodeje',
    seen: 'Zaznamenáno, zatím ne konečné',
    letGo: 'Malá částka: zákazník může odejít.',
    waitForBlock: 'Nechte zákazníka počkat na potvrzení.',
    offline: 'Toto zařízení je offline. Zobrazené údaje mohou být staré.',
    useAs: (name) => `Použít toto zařízení jako ${name}`,
    pair: {
      title: 'Přidat toto zařízení jako pokladnu',
      text: 'Může účtovat a vidí své vlastní prodeje. Nevidí klíče, peněženky ani nastavení.',
    },
    noTill: {
      title: 'Toto zařízení není pokladna',
      text: 'Přidejte pokladnu v administraci a naskenujte její kód tímto zařízením.',
    },
    codeOver: {
      title: 'Tento kód už neplatí',
      text: 'Platí jednou a 15 minut. Vytvořte nový v administraci.',
    },
    notCanceled: {
      title: 'Prodej není zrušen',
      text: 'Je zaplacený, nebo skončil. Podívejte se do dnešních prodejů.',
    },
  },
  errors: {
    unknownOrder: {
      title: 'Taková objednávka neexistuje',
      text: 'Pod tímto odkazem není nic známo. Otevřete ho znovu tam, kde ho obchod zobrazuje, nebo se obraťte na obchod.',
    },
    unknownLink: {
      title: 'Taková stránka neexistuje',
      text: 'Pod tímto odkazem není nic známo. Otevřete ho znovu tam, kde ho obchod zobrazuje, nebo se obraťte na obchod.',
    },
    limited: {
      title: 'Počkejte, prosím',
      text: 'Z vaší sítě přišlo příliš mnoho požadavků. Načtěte stránku za minutu.',
    },
    foreignForm: {
      title: 'To se nepovedlo',
      text: 'Otevřete stránku znovu a stiskněte tlačítko na ní.',
    },
    noPrice: {
      title: 'Cena teď není k dispozici',
      text: 'Aktuální cenu nelze zjistit. Nic není ztraceno: počkejte minutu a zkuste to znovu. Do té doby neplaťte.',
    },
    gap: {
      title: 'Obraťte se, prosím, na obchod',
      text: 'Obchod teď nemůže přes tento odkaz přijmout platbu. Neplaťte: obraťte se na obchod.',
    },
    network: {
      title: 'Příliš mnoho nezaplacených objednávek',
      text: 'Několik objednávek z vaší sítě čeká na platbu. Zaplaťte jednu z nich, použijte jinou síť, třeba mobilní data, nebo se obraťte na obchod.',
    },
    unexpected: {
      title: 'To se nepovedlo',
      text: 'Načtěte stránku znovu za minutu. Pokud to potrvá, dejte vědět obchodu.',
    },
    backToOrder: 'Zpět k objednávce',
    back: 'Zpět',
  },
};
