// Forms of pages: their token, their fields, and the password again before harmful actions.

import type { Child } from 'hono/jsx';
import { ownerName } from '../../store/access/admin.ts';
import { assetPath } from '../assets.ts';
import { hasAuthenticator, isPasswordRecent } from '../guard/dashboard-session.ts';
import { accountPath, base, type Fault, formTokenOf, type PageRequest } from '../page.ts';
import { versionOf } from './form-fields.ts';
import { isPasskeyOffered, PasskeyButton } from './passkey-button.tsx';

interface FormProps {
  readonly request: PageRequest;
  readonly action: string;
  /** Label of the submit button; without it the children contain the buttons. */
  readonly button?: string;
  /** The action cannot be undone, so the button has a warning colour. */
  readonly isDangerous?: boolean;
  /** Not what the page is for, so the button is quiet. */
  readonly isQuiet?: boolean;
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
  isQuiet,
  needsPassword,
  label,
  children,
}: FormProps) => (
  <form method="post" action={request.url} aria-label={label}>
    <input type="hidden" name="token" value={formTokenOf(request)} />
    <input type="hidden" name="do" value={action} />
    {children}
    {needsPassword && !isPasswordRecent(request) ? (
      <PasswordAgain request={request} form={action} />
    ) : null}
    {button === undefined ? null : (
      <button type="submit" class={isDangerous ? 'danger' : isQuiet ? 'other' : undefined}>
        {button}
      </button>
    )}
  </form>
);

interface PasswordAgainProps {
  readonly request: PageRequest;
  readonly form: string;
}

const PasswordAgain = ({ request, form }: PasswordAgainProps) => (
  <>
    <label>
      Your password again
      <input
        type="password"
        name="password"
        autocomplete="current-password"
        required
        {...faultAttributes(request, 'password', form)}
      />
    </label>
    <FaultNote request={request} name="password" form={form} />
    {hasAuthenticator(request) ? <SecondFactorFields request={request} form={form} /> : null}
    {isPasskeyOffered(request) ? (
      <PasskeyButton label="Use a passkey instead" asks={accountPath} />
    ) : null}
  </>
);

/** A field of forms that sign in: the script puts the time zone of the browser into it. */
export const ZoneField = () => (
  <>
    <input type="hidden" name="zone" value="" />
    <script type="module" src={assetPath('zoneScript')}></script>
  </>
);

/** For password managers, which want a name to go with a password. */
export const UserName = ({ request }: { readonly request: PageRequest }) => (
  <input
    type="text"
    name="username"
    value={request.account.person()?.name ?? ownerName}
    autocomplete="username"
    hidden
  />
);

interface CodeFieldProps {
  readonly request?: PageRequest;
  /** The action of the form, if other forms of the page have a field of this name. */
  readonly form?: string | undefined;
  readonly isOptional?: boolean;
  readonly hasFocus?: boolean | undefined;
}

export const CodeField = ({ request, form, isOptional, hasFocus }: CodeFieldProps) => (
  <>
    <label>
      Code from your authenticator app
      <input
        name="code"
        inputmode="numeric"
        autocomplete="one-time-code"
        required={isOptional !== true}
        autofocus={hasFocus}
        {...(request && faultAttributes(request, 'code', form))}
      />
    </label>
    {request === undefined ? null : <FaultNote request={request} name="code" form={form} />}
  </>
);

interface SecondFactorProps extends PasswordAgainProps {
  /** The page is for the code alone. */
  readonly hasFocus?: boolean;
}

/** The code of the authenticator app, or a recovery code in its place. */
export const SecondFactorFields = ({ request, form, hasFocus }: SecondFactorProps) => {
  const hasCodes = request.account.recoveryCodesLeft() > 0;
  const isRecovery = faultOf(request, 'recovery-code', form) !== undefined;
  return (
    <>
      <CodeField
        request={request}
        form={form}
        isOptional={hasCodes}
        hasFocus={hasFocus && !isRecovery}
      />
      {hasCodes ? (
        <details open={isRecovery}>
          <summary>Use a recovery code instead</summary>
          <label>
            Recovery code
            <input
              name="recovery-code"
              autocomplete="off"
              autocapitalize="none"
              spellcheck={false}
              {...faultAttributes(request, 'recovery-code', form)}
            />
          </label>
          <FaultNote request={request} name="recovery-code" form={form} />
        </details>
      ) : null}
    </>
  );
};

/** Undefined if the field, or the whole form that contains it, was not refused. */
function faultOf({ faults, form }: PageRequest, name: string, action?: string): Fault | undefined {
  return action === undefined || form.get('do') === action ? faults?.get(name) : undefined;
}

/** Attributes of a refused input. The first one has the focus, also without script. */
export function faultAttributes(request: PageRequest, name: string, action?: string) {
  if (faultOf(request, name, action) === undefined) return {};
  const [first] = request.faults?.keys() ?? [];
  return {
    'aria-invalid': 'true',
    'aria-describedby': `fault-${name}`,
    autofocus: first === name,
  } as const;
}

interface FaultNoteProps {
  readonly request: PageRequest;
  readonly name: string;
  /** The action of the form, if other forms of the page have a field of this name. */
  readonly form?: string | undefined;
}

/** Why a field was refused, for the place below it. */
export function FaultNote({ request, name, form }: FaultNoteProps) {
  const fault = faultOf(request, name, form);
  return fault === undefined ? null : (
    <p id={`fault-${name}`} class="fault">
      {fault.text}
    </p>
  );
}

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

/** A text field; after a refusal it contains what was typed, and says why it was refused. */
export const Field = (props: FieldProps) => {
  const { request, name, label, value, help, type = 'text', required = true, attributes } = props;
  return (
    <>
      <label>
        {label}
        <input
          type={type}
          name={name}
          value={request.form.get(name) ?? value}
          required={required}
          {...attributes}
          {...faultAttributes(request, name)}
        />
        {help === undefined ? null : <small>{help}</small>}
      </label>
      <FaultNote request={request} name={name} />
    </>
  );
};

interface SwitchProps {
  readonly request: PageRequest;
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
  /** For a field that may be refused. */
  readonly request?: PageRequest;
  readonly name: string;
  readonly label: string;
  readonly help?: string | undefined;
  readonly options: readonly (readonly [value: string | number, text: string])[];
  /** The selected value; the first option if this is undefined or unknown. */
  readonly chosen: string | undefined;
}

export const Select = ({ request, name, label, help, options, chosen }: SelectProps) => (
  <>
    <label>
      {label}
      <select name={name} {...(request && faultAttributes(request, name))}>
        {options.map(([value, text]) => (
          <option value={value} selected={chosen === String(value)}>
            {text}
          </option>
        ))}
      </select>
      {help === undefined ? null : <small>{help}</small>}
    </label>
    {request === undefined ? null : <FaultNote request={request} name={name} />}
  </>
);

/** The option that was sent, after a refusal: the first option may grant more than was meant. */
export const chosenBefore = (
  request: PageRequest,
  form: string,
  name: string,
): string | undefined =>
  isFormSent(request, form) ? (request.form.get(name) ?? undefined) : undefined;

interface StoreSelectProps {
  readonly request: PageRequest;
  /** The action of the form that contains the field. */
  readonly form: string;
}

export const StoreSelect = ({ request, form }: StoreSelectProps) => (
  <Select
    name="store"
    label="Store"
    options={request.parts.records.catalog.stores().map(({ id, name }) => [id, name] as const)}
    chosen={chosenBefore(request, form, 'store')}
  />
);

/** In place of a form that needs a store. */
export const AddStoreFirst = () => (
  <p>
    <a href={`${base}/stores/new`}>Add a store</a> first.
  </p>
);
