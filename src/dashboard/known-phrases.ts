// Long phrases that are known as passwords: examples of guides, lines of songs and books, sayings
// of Bitcoin. Lists of leaked passwords have them without spaces, and with digits.

/** In small letters without spaces. */
const phrases: ReadonlySet<string> = new Set(
  `
  correcthorsebatterystaple correcthorsebattery horsebatterystaple batterystaple
  troubador troubadour diceware thequickbrownfox thequickbrownfoxjumpsoverthelazydog
  supercalifragilisticexpialidocious antidisestablishmentarianism
  pneumonoultramicroscopicsilicovolcanoconiosis honorificabilitudinitatibus
  tobeornottobe tobeornottobethatisthequestion ithinkthereforeiam maytheforcebewithyou
  iamyourfather lukeiamyourfather houstonwehaveaproblem winteriscoming allyourbasearebelongtous
  nevergonnagiveyouup nevergonnaletyoudown welcometothejungle stairwaytoheaven
  hotelcalifornia bohemianrhapsody smellsliketeenspirit wewillrockyou dontstopbelieving
  hakunamatata letitbeletitbe yellowsubmarine livinonaprayer livingonaprayer
  teenagemutantninjaturtles lordoftherings onesringtorulethemall oneringtorulethemall
  youshallnotpass thereisnospoon hastalavistababy illbebackillbeback elementarymydearwatson
  oncuponatime onceuponatime happilyeverafter ladiesandgentlemen happybirthdaytoyou
  merrychristmas jinglebells theendoftheworld lastchristmas iwillalwaysloveyou
  youaremysunshine ilovemyfamily ilovemymom ilovemydad ilovemyhusband ilovemywife
  ilovemyboyfriend ilovemygirlfriend ilovemykids ilovemydog ilovemycat ilovemyself iloveyousomuch
  iloveyouforever iloveyoubaby iloveyoutothemoonandback imissyousomuch jesusismylord
  jesusismysavior jesuslovesme godisgood godblessyou ingodwetrust thelordismyshepherd
  mynameis whatismyname whatisyourname whatsyourname whoareyou helloworld hellohowareyou
  hellomynameis thisismypassword thisisapassword thisisasecurepassword thisisnotmypassword
  mypasswordispassword mysecretpassword mysupersecretpassword supersecretpassword
  verysecurepassword averylongpassword averystrongpassword ihatepasswords ihatemypassword
  iforgotmypassword idontknow idontremember pleaseletmein letmeinplease opensesame
  changethispassword changemeplease passwordpassword defaultpassword temporarypassword
  administratorpassword rootpassword databasepassword masterpassword
  satoshinakamoto viresinnumeris notyourkeysnotyourcoins notyourkeysnotyourcheese tothemoon
  whenlambo hodlhodlhodl stackingsats stacksatsstayhumble stayhumblestacksats inbitcoinwetrust
  bitcointothemoon dontrustverify donttrustverify thetimes chancelloronbrink
  chancelloronbrinkofsecondbailoutforbanks magicinternetmoney bitcoinpizza hyperbitcoinization
  aufderstrasse ichliebedich ichliebedichsosehr hallowiegehts meinpasswort dasistmeinpasswort
  passwortvergessen allesgutezumgeburtstag jetaime jetaimemonamour monmotdepasse motdepasse
  tequieromucho teamomucho micontrasena contrasena tiamotanto lamiapassword
  minhasenha euteamo
  `
    .split(/\s+/)
    .filter(Boolean)
    .map(withoutL),
);

/** Digits and signs that stand for letters. A 1 stands for i and l, so both are read as i. */
const letters: Readonly<Record<string, string>> = {
  ...{ '0': 'o', '1': 'i', '3': 'e', '4': 'a', '5': 's', '7': 't' },
  ...{ '@': 'a', $: 's', '!': 'i', '€': 'e', '|': 'i' },
};

function withoutL(word: string): string {
  return word.replaceAll('l', 'i');
}

/**
 * Whether a password is a known phrase or repeats one. Case, digits for letters, and characters
 * around or between the words make no difference.
 */
export function isKnownPhrase(password: string): boolean {
  const text = password.normalize('NFKD').toLowerCase();
  const read = text.replaceAll(/./gu, (each) => letters[each] ?? each);
  // Digits at the ends are no letters: `tobeornottobe2026`.
  const inner = text.replaceAll(/^[^a-z]+|[^a-z]+$/g, '');
  const readInner = inner.replaceAll(/./gu, (each) => letters[each] ?? each);
  return [text, read, inner, readInner].some((each) =>
    isListed(withoutL(each.replaceAll(/[^a-z]/g, ''))),
  );
}

function isListed(word: string): boolean {
  const [, unit = word] = /^(.+?)\1+$/.exec(word) ?? [];
  return phrases.has(word) || phrases.has(unit);
}
