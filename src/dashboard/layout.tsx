// What every page is made of: the frame with its navigation, forms that carry their token, and how times and
// amounts are written. Text of strangers is only ever text here: JSX escapes it.

import { html } from 'hono/html';
import type { Child } from 'hono/jsx';
import { formatBitcoin, formatTime } from '../domain/format.ts';
import { severalStoresAdvice } from '../domain/store-choice.ts';
import { htmlDocument } from '../web/html-page.ts';
import { assetPath } from './assets.ts';
import { hasAuthenticator, isPasswordRecent } from './dashboard-session.ts';
import { versionOf } from './form-fields.ts';
import { base, formTokenOf, type PageRequest } from './page.ts';

const sections = [
  ['', 'Overview'],
  ['/payments', 'Payments'],
  ['/callbacks', 'Callbacks'],
  ['/addresses', 'Addresses'],
  ['/stores', 'Stores'],
  ['/servers', 'Servers'],
  ['/settings', 'Settings'],
] as const;

interface FrameProps {
  readonly title: string;
  readonly children?: Child;
}

const Frame = ({ title, children }: FrameProps) =>
  htmlDocument({
    title: `${title} – paygate`,
    head: html`<link rel="icon" href="${assetPath('icon')}" type="image/svg+xml" />
      <link rel="stylesheet" href="${assetPath('style')}" />
      <script type="module" src="${assetPath('script')}"></script>`,
    body: <>{children}</>,
  });

/** A page for those who are not signed in. */
export const NarrowPage = ({ title, children }: FrameProps) => (
  <Frame title={title}>
    <main class="narrow">
      <p class="mark">paygate</p>
      <h1>{title}</h1>
      {children}
    </main>
  </Frame>
);

interface LayoutProps extends FrameProps {
  readonly request: PageRequest;
  /** Whether the script fetches it anew when a payment changes. */
  readonly live?: boolean;
  /** Whether the script fetches it anew each few seconds. */
  readonly poll?: boolean;
}

export const Layout = ({ request, title, live, poll, children }: LayoutProps) => (
  <Frame title={title}>
    <a class="skip" href="#main">
      Skip to the content
    </a>
    <header>
      <nav aria-label="Sections">
        <a class="mark" href={base}>
          paygate
        </a>
        <ul>
          {[...sections, ...extraSections(request)].map(([path, name]) => (
            <li>
              <a href={base + path} aria-current={isIn(request, path) ? 'page' : undefined}>
                {name}
              </a>
            </li>
          ))}
        </ul>
      </nav>
    </header>
    <main
      id="main"
      data-live={live ? `${base}/live` : undefined}
      data-poll={poll ? '3000' : undefined}
    >
      <h1>{title}</h1>
      <ProblemNote request={request} />
      {children}
    </main>
  </Frame>
);

const extraSections = ({ parts }: PageRequest): (readonly [path: string, name: string])[] =>
  parts.extraPages.flatMap(({ path, name }) => (name === undefined ? [] : [[path, name] as const]));

function isIn({ url }: PageRequest, path: string): boolean {
  const here = url.split('?')[0] ?? '';
  const there = base + path;
  return path === '' ? here === there : here === there || here.startsWith(`${there}/`);
}

export const ProblemNote = ({ request: { problem } }: { readonly request: PageRequest }) =>
  problem === undefined ? null : (
    <p role="alert" class="problem">
      {problem}
    </p>
  );

const doneTexts: ReadonlyMap<string, string> = new Map(
  Object.entries({
    added: 'The store is added. Send a test callback to see whether your shop understands it.',
    'added-beside': `The store is added. ${severalStoresAdvice} Send a test callback to see whether your shop understands it.`,
    saved: 'Saved.',
    removed: 'The store is removed. You find it under “Removed stores” below, to use it again.',
    restored: 'The store is in use again.',
    resent: 'They are sent again, now.',
    'none-failed': 'None of this store has failed that is not being sent again already.',
    'none-doubtful': 'The last answer of none of this store is doubtful.',
    accepted: 'That certificate is pinned: its next connection, which is made now, must show it.',
    lifted: 'The ban is lifted: it is tried again now, and banned again if it lies.',
    followed: 'The branch is followed from its next block on.',
    opened: 'A plugin may set its store up now.',
    shut: 'No plugin may change stores any more.',
  }),
);

/** What the form before has done. */
export const DoneNote = ({ request: { context, problem } }: { readonly request: PageRequest }) => {
  const text = doneTexts.get(context.req.query('done') ?? '');
  const [index] = /^\d{1,2}$/.exec(context.req.query('index') ?? '') ?? [];
  return text === undefined || problem !== undefined ? null : (
    <p role="status" class="note">
      {text}
      {index === undefined
        ? null
        : ` The address that you gave is the one at index ${index} of this wallet.`}
    </p>
  );
};

interface FormProps {
  readonly request: PageRequest;
  /** Which action of the page it asks for. */
  readonly action: string;
  /** Without it, buttons are among the children. */
  readonly button?: string;
  /** The button of something that can't be taken back. */
  readonly isDangerous?: boolean;
  /** Asks for the password again where it was not typed a moment ago. */
  readonly needsPassword?: boolean;
  readonly label?: string;
  readonly children?: Child;
}

export const Form = ({
  request,
  action: does,
  button,
  isDangerous: grave,
  needsPassword: confirm,
  label,
  children,
}: FormProps) => (
  <form method="post" action={request.url} aria-label={label}>
    <input type="hidden" name="token" value={formTokenOf(request)} />
    <input type="hidden" name="do" value={does} />
    {children}
    {confirm && !isPasswordRecent(request) ? <PasswordAgain request={request} /> : null}
    {button === undefined ? null : (
      <button type="submit" class={grave ? 'grave' : undefined}>
        {button}
      </button>
    )}
  </form>
);

const PasswordAgain = ({ request }: { readonly request: PageRequest }) => (
  <>
    <label>
      Your password, once more
      <input type="password" name="password" autocomplete="current-password" required />
    </label>
    {hasAuthenticator(request) ? <CodeField /> : null}
  </>
);

export const CodeField = () => (
  <label>
    Code of your authenticator app
    <input name="code" inputmode="numeric" autocomplete="one-time-code" required />
  </label>
);

interface FieldProps {
  readonly request: PageRequest;
  readonly name: string;
  readonly label: string;
  readonly value?: string | number | undefined;
  readonly help?: string;
  readonly type?: string;
  readonly required?: boolean;
  readonly attributes?: Readonly<Record<string, string | number>>;
}

/** A line of text; after a refusal it holds what was typed. */
export const Field = (props: FieldProps) => {
  const { request, name, label, value, help, type = 'text', required = true, attributes } = props;
  return (
    <label>
      {label}
      <input
        type={type}
        name={name}
        value={request.form.get(name) ?? value}
        required={required}
        {...attributes}
      />
      {help === undefined ? null : <small>{help}</small>}
    </label>
  );
};

interface SwitchProps {
  readonly request: PageRequest;
  /** The form that it is in. */
  readonly form: string;
  readonly name: string;
  readonly label: string;
  readonly on: boolean;
}

/** Whether this form was sent: of a switch that is off nothing else comes. */
const isFormSent = ({ form }: PageRequest, does: string): boolean => form.get('do') === does;

/** After a refusal it stands as it was sent. */
export const Switch = ({ request, form: does, name, label, on }: SwitchProps) => (
  <label>
    <input
      type="checkbox"
      name={name}
      value="on"
      checked={isFormSent(request, does) ? request.form.get(name) === 'on' : on}
    />
    {label}
  </label>
);

interface FormVersionProps {
  readonly request: PageRequest;
  /** The form that it is in. */
  readonly form: string;
  readonly value: unknown;
}

/** What the form is made from; after a refusal still what it was made from at first. */
export const FormVersion = ({ request, form: does, value }: FormVersionProps) => (
  <input
    type="hidden"
    name="before"
    value={(isFormSent(request, does) && request.form.get('before')) || versionOf(value)}
  />
);

interface SelectProps {
  readonly name: string;
  readonly label: string;
  readonly options: readonly (readonly [value: string | number, text: string])[];
  /** The value that is chosen now: the first one where it is undefined or none of them. */
  readonly chosen: string | undefined;
}

export const Select = ({ name, label, options, chosen }: SelectProps) => (
  <label>
    {label}
    <select name={name}>
      {options.map(([value, text]) => (
        <option value={value} selected={chosen === String(value)}>
          {text}
        </option>
      ))}
    </select>
  </label>
);

/** After a refusal a choice stands as it was sent: the first one may be more than was meant. */
export const chosenBefore = (
  request: PageRequest,
  does: string,
  name: string,
): string | undefined =>
  isFormSent(request, does) ? (request.form.get(name) ?? undefined) : undefined;

/** A table that may be wider than the screen; it is scrolled by keyboard, too. */
export const Table = ({ label, heads, phoneColumns: onPhone, children }: TableProps) => (
  <section class="scroll" aria-label={label} tabindex={0}>
    <table class={onPhone === undefined ? undefined : `first-${onPhone}`}>
      <thead>
        <tr>
          {heads.map((head) => (
            <th scope="col">{head}</th>
          ))}
        </tr>
      </thead>
      <tbody>{children}</tbody>
    </table>
  </section>
);

interface TableProps {
  readonly label: string;
  /** One a column. */
  readonly heads: readonly Child[];
  /** How many of the first columns a narrow screen shows; all of them without it. */
  readonly phoneColumns?: 2 | 3 | 4;
  /** The rows. */
  readonly children?: Child;
}

/** In UTC, to the second; the script adds the reader's own time. */
export const Time = ({ at }: { readonly at: number }) => (
  <time datetime={new Date(at).toISOString()}>{formatTime(at)}</time>
);

export const Amount = ({ sat }: { readonly sat: number }) => (
  <span class="amount">{`${formatBitcoin(sat)} BTC`}</span>
);
