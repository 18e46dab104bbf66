// The texts of the pages for customers, in Polish. They are impersonal: `proszę` and infinitives.

import { formatsOf } from './language-formats.ts';
import type { Words } from './words.ts';

const { number, plural } = formatsOf('pl');

export const pl: Words = {
  language: 'Język',
  languageIs: (name) => `Język: ${name}`,
  copied: 'Skopiowano',
  orderStates: {
    open: 'Oczekiwanie na płatność',
    processing: 'Przetwarzane',
    paid: 'Opłacone',
    expired: 'Wygasłe',
    canceled: 'Anulowane',
  },
  paymentStates: {
    seen: 'Wykryta',
    confirming: 'W trakcie potwierdzania',
    confirmed: 'Potwierdzona',
    gone: 'Niezrealizowana',
  },
  now: {
    pay: 'Proszę zeskanować kod portfelem albo otworzyć portfel przyciskiem poniżej, a następnie wysłać kwotę.',
    payMissing: (arrived, missing) =>
      `Wpłynęła kwota ${arrived}. Proszę wysłać brakującą kwotę ${missing} na ten sam adres.`,
    payAgain:
      'Przed ponowną płatnością proszę sprawdzić portfel. Jeśli nadal pokazuje tę płatność jako wysłaną, proszę poczekać.',
    renewPrice: 'Cena nie jest już ważna. Przed płatnością proszę wyświetlić aktualną cenę.',
    renewPriceAgain:
      'Przed ponowną płatnością proszę sprawdzić portfel. Jeśli nadal pokazuje tę płatność jako wysłaną, proszę poczekać. W przeciwnym razie proszę najpierw wyświetlić aktualną cenę.',
    undecided: (arrived) =>
      `Kwota ${arrived} wpłynęła, gdy cena nie była już ważna. Proszę nie płacić ponownie: należy poczekać albo zapytać sklep.`,
    timeIsOver: 'Czas na zapłatę minął. Proszę już nie płacić.',
    wait: 'Płatność wpłynęła. Nic więcej nie trzeba robić: płatność czeka na potwierdzenie.',
    done: 'Dziękujemy. Nic więcej nie trzeba robić, a ta strona jest pokwitowaniem.',
    expired: 'Proszę już nie płacić.',
    expiredWithMoney: (arrived) =>
      `Wpłynęła kwota ${arrived}, ale to za mało. Proszę już nie płacić: należy zapytać sklep, który może ją przyjąć albo zwrócić.`,
    expiredAfterFall:
      'Czas na zapłatę minął. Proszę nie płacić ponownie: jeśli zamówienie jest nadal potrzebne, należy poprosić sklep o nowe.',
    canceled: 'Sklep anulował to zamówienie. Proszę nie płacić.',
    canceledWithMoney: (arrived) =>
      `Sklep anulował to zamówienie. Wpłynęła kwota ${arrived}. Proszę już nie płacić: należy poprosić sklep o jej zwrot.`,
    arrived: (arrived) => `Wpłynęła kwota ${arrived}.`,
    foundByItself:
      'Jeśli płatność została już wysłana, nie trzeba nic robić: zostanie odnaleziona automatycznie.',
    fellAway: 'Płatność nie doszła do skutku: sklep jej nie otrzymał.',
    cameLate:
      'Płatność wpłynęła z opóźnieniem, więc sklep może sprawdzić zamówienie, zanim je zrealizuje.',
    paidTooMuch: (excess) => `Zapłacono o ${excess} za dużo: proszę zapytać o to sklep.`,
    tooLittleMissing: (missing) =>
      `Brakuje tylko ${missing}: to za mało, aby to wysłać. Sklep jest proszony o przyjęcie tej płatności. Nie trzeba nic robić.`,
    paidAgain: (excess) =>
      `Zamówienie było już opłacone, a dotarło jeszcze ${excess}: proszę zwrócić się do sklepu o zwrot.`,
    refunded: (amount) => `Sklep zwrócił ${amount}.`,
  },
  late: 'Po terminie',
  shortBy: (amount) => `Brakuje ${amount}`,
  overBy: (amount) => `Nadpłata ${amount}`,
  discount: (percent) => `Rabat ${percent}`,
  surcharge: (percent) => `Dopłata ${percent}`,
  pay: {
    payment: 'Płatność',
    openWallet: 'Otwórz w portfelu',
    copyAddress: 'Kopiuj adres',
    copyAmount: 'Kopiuj kwotę',
    copyInvoice: 'Kopiuj fakturę Lightning',
    payAgain: 'Zapłać ponownie',
    qrCode: 'Kod QR z adresem i kwotą',
    qrCodeOfInvoice: 'Kod QR faktury Lightning',
    qrCodeOfAddress: 'Kod QR z adresem, bez kwoty',
    addressAlone: 'Kod QR z samym adresem',
    priceHoldsUntil: (time) => `Cena ważna do: ${time}`,
    payUntil: (time) => `Termin zapłaty: ${time}`,
    timeLeft: 'Pozostały czas:',
    showPriceNow: 'Pokaż aktualną cenę',
    leaves: (time) => `Powrót do sklepu nastąpi za ${time}.`,
    backTo: (shop) => `Powrót do ${shop}`,
  },
  facts: {
    order: 'Zamówienie',
    description: 'Opis',
    reference: 'Oznaczenie',
    amount: 'Kwota',
    price: 'Cena',
    rate: 'Kurs',
    received: 'Otrzymano',
    overBy: 'Nadpłata',
    ordered: 'Zamówiono',
    paid: 'Zapłacono',
    payments: 'Płatności',
    payment: 'Płatność',
    state: 'Stan',
    seen: 'Wykryto',
    transaction: 'Transakcja',
    address: 'Na adres',
    confirmations: 'Potwierdzenia',
    refunded: 'Zwrócono',
    shopAddress: 'Sklep',
    contact: 'Kontakt ze sklepem',
  },
  refund: {
    offered: (amount) => `Sklep zwraca ${amount}. Proszę wpisać poniżej adres z własnego portfela.`,
    prepared: (amount) => `Sklep ma adres i wysyła na niego ${amount}.`,
    address: 'Adres Bitcoin do zwrotu',
    hint: 'Proszę skopiować go z opcji „Odbierz” w portfelu. Potem nie będzie można go tu zmienić.',
    send: 'Wyślij adres do sklepu',
    wrong:
      'To nie jest adres, na który można zapłacić. Proszę skopiować go z portfela jeszcze raz.',
    own: 'To jest adres sklepu. Proszę skopiować adres z własnego portfela.',
    states: { prepared: 'W przygotowaniu', sent: 'Wysłano' },
  },
  claim: {
    title: 'Już zapłacono',
    txid: 'Identyfikator transakcji, jeśli portfel go pokazuje',
    ask: 'Szukaj mojej płatności',
    seen: (ago) => `Płatność zauważono ${ago}.`,
    seenNow: 'Płatność zauważono przed chwilą.',
    blocks: (have, need, left) => `Jest w blokach: ${have} z ${need}. Jeszcze około ${left}.`,
    tooLittle: (amount) => `To o ${amount} za mało.`,
    elsewhere:
      'Ta transakcja płaci na inny adres. Proszę porównać adres w portfelu z adresem na tej stronie.',
    justNow:
      'Ta transakcja opłaca to zamówienie. Zauważono ją przed chwilą i ta strona zaraz ją pokaże.',
    unseen:
      'Nasze serwery nie widziały jeszcze tej płatności. Jeśli portfel pokazuje ją jako wysłaną, proszę zapytać ponownie za kilka minut.',
    later: 'Teraz nie można tego sprawdzić. Proszę zapytać ponownie za minutę.',
    wrong: 'To nie jest identyfikator transakcji. Ma on 64 cyfry i litery od a do f.',
    byLightning: 'Płatność Lightning dotarła i jest ostateczna.',
    unpaidInvoice:
      'Węzeł Lightning sklepu jeszcze jej nie otrzymał. Jeśli portfel pokazuje ją jako opłaconą, proszę zapytać ponownie za minutę.',
    foreignInvoice:
      'Ta faktura nie należy do tego zamówienia. Proszę porównać ją z fakturą na tej stronie.',
  },
  rateOf: (price, bitcoin) => `${price} za ${bitcoin}`,
  newestPayments: (shown) =>
    plural(shown, {
      one: 'Pokazano najnowszą płatność. Sumy obejmują wszystkie.',
      few: `Pokazano ${number(shown)} najnowsze płatności. Sumy obejmują wszystkie.`,
      other: `Pokazano ${number(shown)} najnowszych płatności. Sumy obejmują wszystkie.`,
    }),
  receipt: {
    title: 'Pokwitowanie',
    seen: 'Płatność została wykryta. Nic nie trzeba robić: płatność czeka na pierwsze potwierdzenie.',
    confirming:
      'Płatność jest w bloku. Nic nie trzeba robić: płatność czeka na kolejne potwierdzenia.',
    confirmed: 'Płatność jest potwierdzona. Ta strona jest pokwitowaniem.',
    gone: 'Płatność nie doszła do skutku: sklep jej nie otrzymał. Przed ponowną płatnością proszę sprawdzić portfel.',
    toOrder: 'Pokaż zamówienie',
    unknown:
      'Taka płatność nie jest tu znana. Jeśli została wysłana przed chwilą, proszę wczytać tę stronę ponownie za minutę.',
    unnamed:
      'Ten link nie wskazuje żadnej płatności: brakuje jego części albo została zmieniona. Proszę otworzyć go ponownie tam, gdzie pokazuje go sklep.',
  },
  link: {
    pay: 'Zapłać',
    payWithBitcoin: 'Zapłać bitcoinem',
    amountIn: (currency) => `Kwota w ${currency}`,
    suggestions: 'Proponowane kwoty',
    atLeast: (least) => `Co najmniej ${least}`,
    atMost: (most) => `Co najwyżej ${most}`,
    between: (least, most) => `Od ${least} do ${most}`,
    note: 'Wiadomość dla sklepu',
    optional: 'opcjonalnie',
    noteHint: 'Jeden wiersz, na przykład imię i nazwisko albo numer.',
    email: 'Adres e-mail (opcjonalnie)',
    emailHint:
      'Wyślemy e-mail, gdy płatność zostanie zauważona, i drugi, gdy zamówienie będzie opłacone. Adres widzi także sklep.',
    closed: {
      title: 'Ten link jest zamknięty',
      text: 'Płatności nie są tu już przyjmowane. Proszę nie płacić: należy poprosić sklep o inny link.',
    },
    missingAmount: 'Proszę wpisać kwotę do zapłaty.',
    wrongAmount: (example) => `Proszę wpisać kwotę jako liczbę, na przykład ${example}.`,
    tooSmall: (least) => `To za mało na płatność bitcoinem. Proszę zapłacić co najmniej ${least}.`,
    missingNote: 'Proszę wpisać wiadomość: sklep jej wymaga.',
    longNote: (maxCharacters) =>
      plural(maxCharacters, {
        one: 'Wiadomość może mieć co najwyżej jeden znak.',
        few: `Wiadomość może mieć co najwyżej ${number(maxCharacters)} znaki.`,
        other: `Wiadomość może mieć co najwyżej ${number(maxCharacters)} znaków.`,
      }),
    wrongEmail: (example) =>
      `Proszę wpisać jeden adres e-mail, na przykład ${example}, albo zostawić to pole puste.`,
    manyEmails:
      'Z tej sieci podano już tyle adresów e-mail, ile wolno w ciągu jednego dnia. Proszę zostawić to pole puste: strona zamówienia pokaże płatność.',
    privateKey:
      'To wygląda na klucz prywatny albo słowa odzyskiwania. Nigdy nie należy wpisywać ich na żadnej stronie: kto je ma, ten ma pieniądze z portfela.',
  },
  till: {
    keypad: 'Klawiatura numeryczna',
    deleteDigit: 'Usuń ostatnią cyfrę',
    wholeUnits: 'Tylko pełne jednostki',
    charge: 'Pobierz',
    waiting: 'Oczekiwanie na płatność',
    next: 'Dalej',
    cancel: 'Anuluj sprzedaż',
    sales: 'Sprzedaż z dzisiaj',
    seen: 'Widoczna, jeszcze nieostateczna',
    letGo: 'Mała kwota: klient może odejść.',
    waitForBlock: 'Poproś klienta, aby poczekał na potwierdzenie.',
    offline: 'To urządzenie jest offline. Widoczne dane mogą być nieaktualne.',
    useAs: (name) => `Użyj tego urządzenia jako ${name}`,
    pair: {
      title: 'Dodaj to urządzenie jako kasę',
      text: 'Może przyjmować płatności i widzieć własną sprzedaż. Nie widzi kluczy, portfeli ani ustawień.',
    },
    noTill: {
      title: 'To urządzenie nie jest kasą',
      text: 'Dodaj kasę w panelu i zeskanuj jej kod tym urządzeniem.',
    },
    codeOver: {
      title: 'Ten kod już nie działa',
      text: 'Działa raz i przez 15 minut. Utwórz nowy w panelu.',
    },
    notCanceled: {
      title: 'Sprzedaż nie została anulowana',
      text: 'Jest opłacona albo zakończona. Sprawdź sprzedaż z dzisiaj.',
    },
  },
  errors: {
    unknownOrder: {
      title: 'Nie ma takiego zamówienia',
      text: 'Pod tym linkiem nic nie jest znane. Proszę otworzyć go ponownie tam, gdzie pokazuje go sklep, albo zapytać sklep.',
    },
    unknownLink: {
      title: 'Nie ma takiej strony',
      text: 'Pod tym linkiem nic nie jest znane. Proszę otworzyć go ponownie tam, gdzie pokazuje go sklep, albo zapytać sklep.',
    },
    limited: {
      title: 'Proszę czekać',
      text: 'Z tej sieci przyszło zbyt wiele żądań. Proszę wczytać stronę za minutę.',
    },
    foreignForm: {
      title: 'To się nie udało',
      text: 'Proszę otworzyć stronę ponownie i nacisnąć na niej przycisk.',
    },
    noPrice: {
      title: 'W tej chwili nie ma ceny',
      text: 'Nie można uzyskać aktualnej ceny. Nic nie zostało utracone: proszę poczekać minutę i spróbować ponownie. Proszę nie płacić wcześniej.',
    },
    gap: {
      title: 'Proszę zapytać sklep',
      text: 'Sklep nie może teraz przyjąć płatności przez ten link. Proszę nie płacić: należy zapytać sklep.',
    },
    network: {
      title: 'Zbyt wiele nieopłaconych zamówień',
      text: 'Kilka zamówień z tej sieci czeka na płatność. Proszę opłacić jedno z nich, użyć innej sieci, na przykład danych komórkowych, albo zapytać sklep.',
    },
    unexpected: {
      title: 'To się nie udało',
      text: 'Proszę wczytać stronę ponownie za minutę. Jeśli problem nie zniknie, proszę powiadomić sklep.',
    },
    backToOrder: 'Powrót do zamówienia',
    back: 'Powrót',
  },
};
