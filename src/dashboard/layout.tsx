// The parts of every page: frame, navigation, forms with their token, and tables.
// JSX escapes all text, so text of strangers cannot become markup.

import { html } from 'hono/html';
import type { Child } from 'hono/jsx';
import { severalStoresAdvice } from '../domain/store-choice.ts';
import { Wordmark } from '../web/brand.tsx';
import { htmlDocument } from '../web/html-page.ts';
import { assetPath } from './assets.ts';
import { hasAuthenticator, isPasswordRecent } from './dashboard-session.ts';
import { versionOf } from './form-fields.ts';
import { base, formTokenOf, type PageRequest } from './page.ts';

/** Paths below `/dashboard`: the page of a section, and pages beside it that belong to it. */
const sections: readonly (readonly [path: string, name: string, beside?: string])[] = [
  ['', 'Overview', '/welcome'],
  ['/payments', 'Payments'],
  ['/callbacks', 'Deliveries', '/events'],
  ['/addresses', 'Addresses'],
  ['/stores', 'Stores'],
  ['/servers', 'Servers'],
  ['/settings', 'Settings'],
];

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

/** A page without navigation, for a reader without a session. */
export const NarrowPage = ({ title, children }: FrameProps) => (
  <Frame title={title}>
    <main class="narrow">
      <p>
        <Wordmark />
      </p>
      <h1>{title}</h1>
      {children}
    </main>
  </Frame>
);

interface LayoutProps extends FrameProps {
  readonly request: PageRequest;
  /** What the page is headed with, if it is more than the title of its tab. */
  readonly heading?: Child;
  /** Whether the script refreshes the page when a payment changes. */
  readonly live?: boolean;
  /** Whether the script refreshes the page every few seconds. */
  readonly poll?: boolean;
}

export const Layout = ({ request, title, heading, live, poll, children }: LayoutProps) => (
  <Frame title={title}>
    <a class="skip" href="#main">
      Skip to the content
    </a>
    <div class="shell">
      <Sections request={request} />
      <main
        id="main"
        data-live={live ? `${base}/live` : undefined}
        data-poll={poll ? '3000' : undefined}
      >
        <h1>{heading ?? title}</h1>
        <ProblemNote request={request} />
        {children}
      </main>
    </div>
  </Frame>
);

/** A column on wide screens; on narrow ones a menu that opens without a script. */
const Sections = ({ request }: { readonly request: PageRequest }) => (
  <header>
    <a href={base}>
      <Wordmark />
    </a>
    <button type="button" class="menu" popovertarget="sections">
      Menu
    </button>
    <nav id="sections" class="sections" popover aria-label="Sections">
      <ul>
        {[...sections, ...extraSections(request)].map(([path, name, beside]) => (
          <li>
            <a
              href={base + path}
              aria-current={[path, beside].some((each) => isIn(request, each)) ? 'page' : undefined}
            >
              {name}
            </a>
          </li>
        ))}
      </ul>
      <ul>
        <li>
          <a href="/docs">API docs</a>
        </li>
        <li>
          <a href={`${base}/sign-out`}>Sign out</a>
        </li>
      </ul>
    </nav>
  </header>
);

const extraSections = ({ parts }: PageRequest): (readonly [path: string, name: string])[] =>
  parts.extraPages.flatMap(({ path, name }) => (name === undefined ? [] : [[path, name] as const]));

function isIn({ url }: PageRequest, path: string | undefined): boolean {
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
    added: 'Store added. Send a test callback to see whether your shop accepts it.',
    'added-beside': `Store added. ${severalStoresAdvice} Send a test callback to see whether your shop accepts it.`,
    saved: 'Saved.',
    removed: 'Store removed. To use it again, find it under “Removed stores” below.',
    restored: 'The store is active again.',
    resent: 'Sending again now.',
    'none-failed': 'This store has no failed delivery that is not already being sent again.',
    'none-doubtful': 'This store has no delivery whose last response is doubtful.',
    accepted: 'The certificate is pinned. paygate reconnects now, and the server must present it.',
    lifted:
      'The ban is lifted. paygate reconnects now; a server that sends false data is banned again.',
    followed: 'paygate follows the branch from its next block on.',
    opened: 'A plugin may now set up its store.',
    shut: 'Plugins can no longer change stores.',
    'password-changed': 'The password is changed, and all other sessions have ended.',
    'totp-off': 'The authenticator app is off. Its recovery codes are deleted.',
    'signed-out': 'That session has ended.',
    'others-signed-out': 'All other sessions have ended.',
  }),
);

/** The result of the form that led to this page. */
export const DoneNote = ({ request: { context, problem } }: { readonly request: PageRequest }) => {
  const text = doneTexts.get(context.req.query('done') ?? '');
  const [index] = /^\d{1,2}$/.exec(context.req.query('index') ?? '') ?? [];
  return text === undefined || problem !== undefined ? null : (
    <p role="status" class="note">
      {text}
      {index === undefined
        ? null
        : ` The address that you entered has index ${index} in this wallet.`}
    </p>
  );
};

interface FormProps {
  readonly request: PageRequest;
  /** The action of the page that the form requests. */
  readonly action: string;
  /** Label of the submit button; without it the children contain the buttons. */
  readonly button?: string;
  /** The action cannot be undone, so the button has a warning colour. */
  readonly isDangerous?: boolean;
  /** Asks for the password again unless it was typed recently. */
  readonly needsPassword?: boolean;
  readonly label?: string;
  readonly children?: Child;
}

export const Form = ({
  request,
  action,
  button,
  isDangerous,
  needsPassword,
  label,
  children,
}: FormProps) => (
  <form method="post" action={request.url} aria-label={label}>
    <input type="hidden" name="token" value={formTokenOf(request)} />
    <input type="hidden" name="do" value={action} />
    {children}
    {needsPassword && !isPasswordRecent(request) ? <PasswordAgain request={request} /> : null}
    {button === undefined ? null : (
      <button type="submit" class={isDangerous ? 'danger' : undefined}>
        {button}
      </button>
    )}
  </form>
);

const PasswordAgain = ({ request }: { readonly request: PageRequest }) => (
  <>
    <label>
      Your password again
      <input type="password" name="password" autocomplete="current-password" required />
    </label>
    {hasAuthenticator(request) ? <SecondFactorFields request={request} /> : null}
  </>
);

export const CodeField = ({ isOptional }: { readonly isOptional?: boolean }) => (
  <label>
    Code from your authenticator app
    <input
      name="code"
      inputmode="numeric"
      autocomplete="one-time-code"
      required={isOptional !== true}
    />
  </label>
);

/** The code of the authenticator app, or a recovery code in its place. */
export const SecondFactorFields = ({ request }: { readonly request: PageRequest }) => {
  const hasCodes = request.parts.store.admin.recoveryCodesLeft() > 0;
  return (
    <>
      <CodeField isOptional={hasCodes} />
      {hasCodes ? (
        <details>
          <summary>Use a recovery code instead</summary>
          <label>
            Recovery code
            <input
              name="recovery-code"
              autocomplete="off"
              autocapitalize="none"
              spellcheck={false}
            />
          </label>
        </details>
      ) : null}
    </>
  );
};

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

/** A text field; after a refusal it contains what was typed. */
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
  /** The action of the form that contains the switch. */
  readonly form: string;
  readonly name: string;
  readonly label: string;
  readonly on: boolean;
}

/** Whether this form was sent: a switch that is off sends no field. */
const isFormSent = (request: PageRequest, action: string): boolean =>
  request.form.get('do') === action;

/** A checkbox; after a refusal it has the state that was sent. */
export const Switch = ({ request, form, name, label, on }: SwitchProps) => (
  <label>
    <input
      type="checkbox"
      name={name}
      value="on"
      checked={isFormSent(request, form) ? request.form.get(name) === 'on' : on}
    />
    {label}
  </label>
);

interface FormVersionProps {
  readonly request: PageRequest;
  /** The action of the form that contains this field. */
  readonly form: string;
  readonly value: unknown;
}

/** The version of the values that the form was made from; a refusal does not change it. */
export const FormVersion = ({ request, form, value }: FormVersionProps) => (
  <input
    type="hidden"
    name="before"
    value={(isFormSent(request, form) && request.form.get('before')) || versionOf(value)}
  />
);

interface SelectProps {
  readonly name: string;
  readonly label: string;
  readonly options: readonly (readonly [value: string | number, text: string])[];
  /** The selected value; the first option if this is undefined or unknown. */
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

/** The option that was sent, after a refusal: the first option may grant more than was meant. */
export const chosenBefore = (
  request: PageRequest,
  form: string,
  name: string,
): string | undefined =>
  isFormSent(request, form) ? (request.form.get(name) ?? undefined) : undefined;

/** The head of a column of numbers, which are right-aligned. */
interface NumberHead {
  readonly number: string;
}

const isNumberHead = (head: Child | NumberHead): head is NumberHead =>
  typeof head === 'object' && head !== null && 'number' in head;

interface TableProps {
  readonly label: string;
  /** One for each column. */
  readonly heads: readonly (Child | NumberHead)[];
  /**
   * A list of links, one in each row. A narrow screen shows the first four columns of a row as a
   * card of two lines.
   */
  readonly isList?: boolean;
  /** The rows. */
  readonly children?: Child;
}

/** A table that may be wider than the screen; it can be scrolled by keyboard. */
export const Table = ({ label, heads, isList = false, children }: TableProps) => (
  <section class="scroll" aria-label={label} tabindex={0}>
    <table class={isList ? 'list' : undefined}>
      <thead>
        <tr>
          {heads.map((head) =>
            isNumberHead(head) ? (
              <th scope="col" class="number">
                {head.number}
              </th>
            ) : (
              <th scope="col">{head}</th>
            ),
          )}
        </tr>
      </thead>
      <tbody>{children}</tbody>
    </table>
  </section>
);
