// Error texts as a page shows them. Rules below the dashboard advise options of the command line;
// a page names the field instead.

import { storeSettings } from '../../domain/store/store-settings.ts';

export const acceptDepthLabel = 'Accept a key from below the account level';
export const startIndexLabel = 'Start at index';

const tick = (label: string): string => `tick “${label}”`;

/** Advice for the command line, and what a page says. */
const advice: readonly (readonly [pattern: RegExp, words: string])[] = [
  [
    /--allow-private-callback, or the tick for it in the dashboard/,
    tick(storeSettings.allowPrivateCallback.label),
  ],
  [
    /--allow-http-callback, or the tick for it in the dashboard/,
    tick(storeSettings.allowHttpCallback.label),
  ],
  [/--allow-depth, or the tick for it in the dashboard/, tick(acceptDepthLabel)],
  [/leave --start-index out/, `leave “${startIndexLabel}” empty`],
  [/, or `paygate store wallet \d+`/, ''],
  [/use reset=1 for abandoned orders, or /, ''],
];

/** A sentence: with a capital, unless it begins with a name, and a full stop. */
function sentence(text: string): string {
  const begun = /^[a-z]+[ :,]/.test(text) ? text.slice(0, 1).toUpperCase() + text.slice(1) : text;
  return /[.?!:”]$/.test(begun) ? begun : `${begun}.`;
}

/** An error text in the words of pages, as a sentence. */
export const inWordsOfPages = (text: string): string =>
  sentence(advice.reduce((rest, [pattern, words]) => rest.replace(pattern, words), text));
