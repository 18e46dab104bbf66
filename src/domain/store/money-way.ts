// How the money of a store comes: what its merchant answered once. It decides what the setup asks
// for, and changes nothing else.

export const moneyWays = {
  links: 'Links and a till',
  plugin: 'A shop with a plugin',
  program: 'My own program',
} as const;

export type MoneyWay = keyof typeof moneyWays;

export const moneyQuestion = 'How does the money come?';

/** @param receives whether a plugin or a program of the shop receives callbacks or events */
export const moneyWayOf = (
  answered: MoneyWay | undefined,
  receives: { readonly plugin: boolean; readonly program: boolean },
): MoneyWay => {
  if (answered !== undefined && answered !== 'links') return answered;
  return receives.plugin ? 'plugin' : receives.program ? 'program' : 'links';
};
