// Words of passwords that attackers try first: those of leaked lists, of this product, and phrases
// that everybody knows. In small letters, without accents and spaces.

export const wordsOf = (text: string): readonly string[] => text.trim().split(/\s+/);

/** Words of this product and of what it runs on. */
export const productWords = wordsOf(`
  paygate bitcoin bitcoins btcpay blockonomics dashboard merchant merchants admin administrator
  administrators payment payments paying gateway wallet wallets satoshi satoshis nakamoto crypto
  cryptocurrency blockchain lightning electrum litecoin ethereum dogecoin invoice invoices order
  orders store stores shop shops shopping webshop checkout callback callbacks webhook webhooks
  account accounts server service system network localhost login signin username user users root
  owner manager operator superuser sysadmin webmaster website online internet computer database
  example sandbox security secure
`);

/** Examples of guides, lines of songs and books, sayings of Bitcoin, and words for a password. */
export const knownPhrases = wordsOf(`
  password passwort passwords passcode passphrase passwd parola motdepasse wachtwoord contrasena haslo
  senha geheim secret letmein letmeinnow opensesame changeme welcome welcomeback iloveyou iloveme
  ihateyou trustno whatever nopassword newpassword mypassword yourpassword freepass qwerty azerty
  gfhjkm ghbdtn abracadabra abrakadabra sesame default temporary testing tester hunter
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
`);

/**
 * The most common words of leaked passwords: first names, teams, brands, animals, months. An
 * attacker tries each, but not each combination of four.
 */
export const commonWords = wordsOf(`
  accord action adidas adrian airborne airplane alabama alaska albert alejandro alexandra alexis
  alicia alison allison alpha alyssa amanda amber america american amour anderson andre andrea
  andrew andrey angel angela angels animal anthony antonio apollo apple apples april arizona arnold
  arsenal arthur ashley august austin autumn avalon avatar avengers awesome azerty babygirl
  babyshark badboy badger bailey bambam banana bandit barbara barcelona barney baseball basketball
  batman baxter bayern beatles beautiful beaver beavis benjamin berlin besiktas beyonce bigboy
  bigdaddy bigdog billy billybob birdie bishop black blackberry blackpink blazer blizzard bobby
  bonjour bonnie boomer boston bradley brandon brandy braves brazil brenda brian britney brittany
  bronco broncos brooke brooklyn brother brutus bubba bubbles buddha buddy budlight buffalo bulldog
  bulldogs bullet burton buster butter butterfly caesar california callofduty calvin camaro cameron
  canada candy captain cardinal carlos carmen carolina caroline carrie carter cartman casper cassie
  celtic champion chance charles charlie cheese chelsea cherokee cherry chester chevelle chevy
  cheyenne chicago chicken chocolat chocolate chopper chris christ christin christopher chronic
  cinderella claire classic claudia cobra cocacola coffee coldplay college colorado compaq connie
  connor cookie cooper copper corvette cougar counterstrike courtney cowboy cowboys crazy creative
  cricket crystal daddy dakota dallas dancer danger daniel danielle darkness darkside david death
  deathnote debbie december denise dennis denver destiny detroit deutschland devils dexter dezember
  diablo diamond dienstag diesel digger disney doctor doggie dolphin dolphins domino donald donkey
  donnerstag dortmund doudou douglas dragon dragonball dreamer dreams driver drummer ducati duncan
  eagle eagles eclipse edward einstein electric elephant elvis eminem empire england enigma eugene
  evanescence everton explorer extreme falcon family fantasy februar february fender fenerbahce
  ferrari finalfantasy firebird fireman fisher fishing florida flower flowers fluffy flyers
  football forest fortnite france francis francisco frank frankie franklin freddy freitag friday
  friend friends froggy fruehling fussball gabriel galatasaray galina galore gandalf garcia
  garfield gators gemini genesis genius george georgia gfhjkm ghbdtn giants gibson ginger girls
  goblue godzilla golden golfer gordon gracie green greenday gregory guillermo guinness guitar
  gundam gunner hallo hamburg hammer hannah happy harley harrypotter hawaii heather heaven hellfire
  hellokitty hendrix herbst hercules hiphop hitman hobbes hockey holiday homer honda honey horse
  horses hotdog hotrod house houston howard hummer hunter iceman indian infinity ireland ironman
  jackie jackson jaguar james januar january jasmine jason jasper jeffrey jennifer jeremy jessica
  jessie jester jesus jesuschrist jimmy johnny johnson jonathan jordan joseph joshua junior jupiter
  justice justin justinbieber juventus karina katana kawasaki kelly kenneth kermit kevin kimberly
  kirill kitten kitty knight kodiak kramer kristen kristina lacrosse lakers lamborghini lasvegas
  lauren lawrence leagueoflegends leather legend leslie liberty lighthouse lincoln linkinpark
  little liverpool lizard london losangeles louise loulou lovelove lover loverboy lovers lucky
  maddog madison madmax madonna maggie magic magnum maksim manchester manutd march marcus maria
  marina marine marines marlboro marley marseille marshall martin marvin maryjane matrix matthew
  maverick maximus maxwell melanie melissa member mercedes mercury merlin messi metallic metallica
  mexico michael michaeljackson michelle michigan mickey midnight miller minecraft mississippi
  mitchell mittwoch molly monday monica monkey monster montag montana morgan mother mountain mozart
  muenchen muffin murphy music mustang naruto nascar nastya natalie natasha nathan needforspeed
  nelson nemesis newport newyork neymar nicholas nicole nikita nintendo nirvana nissan norman
  nothing november october oksana oktober oliver olivia onedirection orange outlaw packers pakistan
  pamela pandora pantera panther panthers panzer paradise parker passion passport patches patricia
  patrick patriots peaches peanut pearljam peekaboo penguin people pepper perfect peter phantom
  phoenix picard pickle pimpin pirate platinum playboy playstation pokemon police polina pontiac
  poohbear pookie popcorn porsche power predator pretty prince princess princesse prinzessin
  private professional pumpkin purple rabbit rachel racing raider raiders rainbow ranger rangers
  raptor rascal raymond realmadrid rebecca reddog redhead redrum redskins redsox redwings reggie
  richard rihanna roadrunner robbie robert roblox rocket rocky roland rolltide ronald ronaldinho
  ronaldo rooster rosebud runner ruslan russell russia sabrina saints samantha sammy samson samstag
  samuel sandman sandra sarah sasuke saturday saturn scarface schalke schatz school scooby scooter
  scorpio scorpion scotland scott scotty semperfi september serega sergey shadow shaggy shakira
  shannon sharon shelby shorty sierra silver simon simone simple simpson simpsons skateboard
  skipper skippy skyline slipknot smith smokey smooth snickers sniper snoopy snowball snowman
  soccer softball soleil sommer sonnenschein sonntag sophie spanky sparky speedy spencer spider
  spiderman spirit spitfire spongebob spooky sports spring stalker stanley stargate startrek
  starwars steelers stella stephen sterling steve steven stingray stinky strawberry sublime success
  summer sunday sunset sunshine super superman supernatural surfer suzuki svetlana sweet sweetheart
  swordfis sydney tarheels taurus taylor taylorswift tennis teresa theman thomas thumper thunder
  thunderbird thursday tiffany tiger tigers tigger timothy tinker titanic tomcat tommy topgun
  toyota travis trevor trinity trouble tucker tuesday turkey turtle tweety underground united
  university valentin vampire vanessa vegeta veronica victor victoria victory viking vikings
  vincent viper virginia vision vladimir volleyball voodoo voyager walker walter wanker warcraft
  warrior water watermelon wednesday weihnachten westside wildcat wildcats william williams willie
  willow wilson winner winston winter wizard wolfpack wolves wombat wonderwoman worldofwarcraft
  xavier yamaha yankee yankees yellow zachary zeppelin zombie
`);
