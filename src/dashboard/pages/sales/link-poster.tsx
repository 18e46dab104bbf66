// The poster of a link, to print. Its second sheet is a card for employees, with what to do in each
// state of an order.

import { type LinkJson, linkAmount } from '../../../domain/order/link-json.ts';
import type { Language } from '../../../domain/text/language.ts';
import { QrCode } from '../../../web/qr-code.tsx';
import type { Page } from '../../page.ts';
import { PrintedPage } from '../../parts/layout.tsx';
import { LocalNote } from '../../parts/local-note.tsx';
import { linkOf } from './link-page.tsx';

const scanWords: Readonly<Record<Language, string>> = {
  en: 'Scan to pay with Bitcoin',
  es: 'Escanea para pagar con Bitcoin',
  fr: 'Scannez pour payer en Bitcoin',
  de: 'Scannen und mit Bitcoin bezahlen',
  'pt-BR': 'Escaneie para pagar com Bitcoin',
  it: 'Scansiona per pagare con Bitcoin',
  nl: 'Scan om met Bitcoin te betalen',
  cs: 'Naskenujte a zaplaťte bitcoinem',
  pl: 'Zeskanuj i zapłać bitcoinem',
  ja: 'スキャンしてビットコインでお支払い',
  ar: 'امسح الرمز للدفع بالبيتكوين',
};

/** The language of the store first, then those that most guests read. */
const languagesOf = (own: string | null): readonly Language[] => {
  const known = (Object.keys(scanWords) as Language[]).filter((each) => each === own);
  return [...new Set<Language>([...known, 'en', 'es', 'fr'])].slice(0, 3);
};

/** What the page of the order shows, and what to do then. */
const advice: readonly (readonly [state: string, text: string])[] = [
  ['Waiting', 'Nothing has come yet. The customer scans the code and sends the amount shown.'],
  [
    'Seen',
    'The payment is on its way, and its sender can still replace it. Let the customer go only if ' +
      'the owner allows that for this amount.',
  ],
  ['1 of 2', 'A block has it. It is final after the second one, usually within 20 minutes.'],
  ['Paid', 'Done. Hand out the goods.'],
  [
    'Too little',
    'The page shows what is missing, and the same code asks for it. If the customer cannot send ' +
      'it, call the owner, who can accept the order or send the money back.',
  ],
];

export const printedLinkPage: Page = {
  path: '/links/:id/print',
  show(request) {
    const row = linkOf(request);
    const { linkView, catalog } = request.parts.records;
    const { name, language } = catalog.store(row.storeId);
    const link = linkView.json(row);
    return (
      <PrintedPage title={`${name}: ${row.title}`}>
        <LocalNote url={link.url} />
        <Poster link={link} shop={name} languages={languagesOf(language)} />
        <section class="employees">
          <h2>For employees</h2>
          <dl>
            {advice.map(([state, text]) => (
              <>
                <dt>{state}</dt>
                <dd>{text}</dd>
              </>
            ))}
          </dl>
        </section>
      </PrintedPage>
    );
  },
};

interface PosterProps {
  readonly link: LinkJson;
  readonly shop: string;
  readonly languages: readonly Language[];
}

const Poster = ({ link, shop, languages }: PosterProps) => (
  <section class="poster">
    <h1>{shop}</h1>
    <p>{link.title}</p>
    {link.description === null ? null : <p>{link.description}</p>}
    {link.amount === null && link.amount_sat === null ? null : (
      <p class="price">{linkAmount(link)}</p>
    )}
    <QrCode text={link.url} label={`QR code of ${link.url}`} />
    {languages.map((language) => (
      <p lang={language} dir="auto">
        {scanWords[language]}
      </p>
    ))}
    <p class="url">{link.url.replace(/^https:\/\//, '')}</p>
  </section>
);
