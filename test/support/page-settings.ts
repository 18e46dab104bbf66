// The settings in which tests load each of the customer's pages. Any two settings meet in each of
// their values, because a fault of a page rarely needs three. All combinations are four times as
// many.

export const languages = ['en', 'de', 'ar'] as const;
export const widths = [360, 768, 1280] as const;

const values = {
  language: languages,
  width: widths,
  colorScheme: ['light', 'dark'],
  isScripted: [true, false],
} as const;

const names = Object.keys(values) as (keyof PageSettings)[];

export interface PageSettings {
  readonly language: (typeof languages)[number];
  readonly width: (typeof widths)[number];
  readonly colorScheme: 'light' | 'dark';
  readonly isScripted: boolean;
}

/** Each language at each width. In that order, every second has script, and every third is dark. */
export const settings: readonly PageSettings[] = languages.flatMap((language, row) =>
  widths.map((width, column) => ({
    language,
    width,
    colorScheme: (row + column) % 3 === 0 ? 'dark' : 'light',
    isScripted: (row + column) % 2 === 0,
  })),
);

/** Pairs of values of two settings that none of `all` has: `en dark`. */
export function unmetPairs(all: readonly PageSettings[]): string[] {
  const unmet: string[] = [];
  for (const [index, one] of names.entries()) {
    for (const other of names.slice(index + 1)) {
      for (const first of values[one]) {
        const seconds = values[other].filter(
          (second) => !all.some((each) => each[one] === first && each[other] === second),
        );
        unmet.push(...seconds.map((second) => `${first} ${second}`));
      }
    }
  }
  return unmet;
}

/** Values of a setting that none of `all` has. */
export const unmetValues = (all: readonly PageSettings[]): string[] =>
  names.flatMap((name) =>
    values[name].filter((value) => !all.some((each) => each[name] === value)).map(String),
  );
