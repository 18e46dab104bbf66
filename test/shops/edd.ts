// The plugin 1.3.8 for Easy Digital Downloads, as its public source behaves in WordPress. Its
// listener only says `Incorrect Secret`. After a good callback, WordPress goes on and answers with
// the shop's home page.

import { common, type Family, htmlPage, percentOf, phpNotice, setState } from './family.ts';

const home = htmlPage(200, 'A shop – Just another WordPress site');

export const edd: Family = {
  ...common,
  name: 'Easy Digital Downloads',
  hook: () => '/?edd-listener=blockonomics',
  firstState: 'pending',
  matches: 'secret',
  asks: 'address first',
  answers: {
    noSecret: 'Incorrect Secret',
    wrongSecret: 'Incorrect Secret',
    unknownAddress: home.body,
    pluginOff: home,
    elsewhere: home,
    notice: phpNotice,
  },
  explain: () => 'Unable to generate bitcoin address',
  page: ([row]) => row ?? 'new address',
  book(handling) {
    const { row, callback } = handling;
    if (callback.status >= 2 && row.paidSat === 0) {
      row.paidSat = callback.value;
      const least = row.expectedSat - percentOf(row.expectedSat, handling);
      setState(handling, callback.value < least ? 'failed' : 'publish');
    }
    row.txid = callback.txid;
    row.status = callback.status;
    return home;
  },
};
