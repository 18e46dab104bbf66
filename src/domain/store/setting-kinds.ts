// The kinds of settings of a store, by what a person enters for one.

interface Texts {
  readonly field: string;
  readonly label: string;
  readonly hint?: string;
  /** Option of the command line with its value, such as `--name <text>`, and its help. */
  readonly option: string;
  readonly help: string;
  /** Help of the option `--no-…`, where there is one. */
  readonly noHelp?: string;
}

export interface TextSetting extends Texts {
  readonly kind: 'text';
  /** @throws PaygateError invalid */
  readonly parse: (text: string) => string;
  readonly maxLength?: number;
  /** The values that the form offers, each with its label. */
  readonly offered?: () => readonly (readonly [value: string, label: string])[];
  /** What empty text and `--no-…` mean; without it a text is required. */
  readonly none?: null | '';
  /** Several values, separated by spaces. The option may occur several times. */
  readonly isRepeatable?: true;
}

export interface ChoiceSetting extends Texts {
  readonly kind: 'choice';
  /** Each word with its label. */
  readonly choices: Readonly<Record<string, string>>;
}

export interface NumberSetting extends Texts {
  readonly kind: 'number';
  /** @throws PaygateError invalid */
  readonly parse: (text: string) => number;
  readonly show: (value: number) => string;
  /** The same for the form, where a person enters it in another unit. */
  readonly form?: Pick<NumberSetting, 'parse' | 'show'>;
}

export interface CountSetting extends Texts {
  readonly kind: 'count';
  readonly min: number;
  readonly max: number;
  readonly default: number;
}

/** Satoshis at the command line, bitcoins in the form; null where it is off. */
export interface AmountSetting extends Texts {
  readonly kind: 'amount';
}

/** On or off; off by default. */
export interface SwitchSetting extends Texts {
  readonly kind: 'switch';
  /** The option of the command line says the opposite of the column. */
  readonly isOptionInverted?: true;
}

/** Pairs of an amount and a number of confirmations. */
export interface BandsSetting extends Texts {
  readonly kind: 'bands';
}

export type StoreSetting =
  | TextSetting
  | ChoiceSetting
  | NumberSetting
  | CountSetting
  | AmountSetting
  | SwitchSetting
  | BandsSetting;
