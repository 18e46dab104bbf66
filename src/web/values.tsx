// How pages show values: amounts, times, addresses and states.

import type { Child } from 'hono/jsx';
import type { StateWord } from '../domain/order/state-words.ts';
import { formatAmount, formatShort, formatTime } from '../domain/text/format.ts';
import { defaultZone, formatMinute } from '../domain/text/time-zone.ts';

/** An amount of bitcoins: in satoshis if it is small. */
export const Amount = ({ sat }: { readonly sat: number }) => (
  <span class="amount">{formatAmount(sat)}</span>
);

interface MoneyProps {
  readonly sat: number;
  /** The worth with its currency, such as `12.34 EUR`, if it is known. */
  readonly worth: string | undefined;
}

/** The worth first, the bitcoins below it; the bitcoins alone without a worth. */
export const Money = ({ sat, worth }: MoneyProps) =>
  worth === undefined ? (
    <Amount sat={sat} />
  ) : (
    <>
      <span class="amount">{worth}</span>
      <small class="below">
        <Amount sat={sat} />
      </small>
    </>
  );

/**
 * A time in UTC. The script shows it in the zone of the reader instead, or as a distance such as
 * "4 min. ago". The title keeps UTC to the second.
 */
export const Time = ({ at }: { readonly at: number }) => (
  <time datetime={new Date(at).toISOString()} title={formatTime(at)} data-distance>
    {formatMinute(at, defaultZone)}
  </time>
);

/** An address or a hash in a list, shortened; the title has all of it. */
export const Short = ({ text }: { readonly text: string }) => (
  <code title={text}>{formatShort(text)}</code>
);

interface CopyableProps {
  /** Id of the element with the text; unique on its page. */
  readonly id: string;
  /** What is copied, for the label of the button: `address`. */
  readonly name: string;
  readonly children?: Child;
}

/** A text that can be selected whole, with a button that copies it. */
export const Copyable = ({ id, name, children }: CopyableProps) => (
  <span class="copyable">
    <code id={id} class="selectable">
      {children}
    </code>{' '}
    <button type="button" class="unready small" data-copy={id} aria-label={`Copy ${name}`}>
      Copy
    </button>
  </span>
);

interface PillProps {
  readonly word: StateWord;
  /** What is special about it, in a few words after the pill. */
  readonly note?: string | undefined;
}

export const Pill = ({ word: { text, tone }, note }: PillProps) => (
  <>
    <span class={`pill ${tone}`}>{text}</span>
    {note === undefined ? null : <small class="beside"> {note}</small>}
  </>
);
