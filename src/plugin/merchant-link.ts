// Links to pages on which a merchant of the service registers, and manages stores, wallets and
// keys. At paygate all of these are the Stores page. Pure.

import { hole } from './flat-text.ts';
import { slash } from './mention.ts';

const names = 'register|sign-?up|log-?in|dashboard|merchants|blockonomics';
/** Pages behind the fragment: `/#/merchants`, `/#/settings`. */
const views = `${names}|stores?|wallets?|settings`;
const page = new RegExp(
  String.raw`^${slash}(?:(?:${names})|#${slash}?(?:${views}))(?![\w-]|\.\w)` +
    String.raw`(?:(?:${slash}|[#?])(?:[\w=&/#?${hole}-]|\\\/)*)?`,
  'i',
);
const storesPath = '/dashboard/stores';

/** The part of a URL's path that names a merchant's page; undefined for any other path. */
export const merchantPage = (path: string): string | undefined => page.exec(path)?.[0];

/** The Stores page, with slashes as the source writes them. */
export const storesPathLike = (written: string): string =>
  written.includes('\\') ? storesPath.replaceAll('/', '\\/') : storesPath;

/** The text behind a link that only names the service, such as in a credit. */
const credit = /^\\?["'][^<>]{0,200}>\s*(?:www\.)?blockonomics(?:\.co)?\s*<\\?\/a>/i;

/** `Made by <a href="https://…/merchants">Blockonomics</a>` is about the service. */
export const isCredit = (written: string, after: string): boolean =>
  /^\W*merchants\W*$/i.test(written) && credit.test(after);
