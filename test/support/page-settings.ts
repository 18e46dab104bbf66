// The settings in which tests load each of the customer's pages: each value of each setting, and
// each colour scheme with and without script. A loaded page is looked at in every width, because a
// width needs no other page.

export const languages = ['en', 'de', 'ar'] as const;
export const widths = [360, 768, 1280] as const;

export interface PageSettings {
  readonly language: (typeof languages)[number];
  /** The width in which the page is loaded. */
  readonly width: (typeof widths)[number];
  readonly colorScheme: 'light' | 'dark';
  readonly isScripted: boolean;
}

export const settings: readonly PageSettings[] = [
  { language: 'de', width: 360, colorScheme: 'light', isScripted: true },
  { language: 'ar', width: 768, colorScheme: 'dark', isScripted: true },
  { language: 'en', width: 1280, colorScheme: 'light', isScripted: false },
  { language: 'ar', width: 360, colorScheme: 'dark', isScripted: false },
];
