// The settings of a store as a form, made from the table `storeSettings`.

import {
  type Band,
  maxConfirmations,
  readBands,
  writeBands,
} from '../../../domain/payment/confirmation-policy.ts';
import type { StoreSetting } from '../../../domain/store/setting-kinds.ts';
import {
  defaultStoreSettings,
  type StoreSettings,
  settingChecks,
  storeSettingNames,
  storeSettings,
} from '../../../domain/store/store-settings.ts';
import { formatBitcoin } from '../../../domain/text/format.ts';
import { barNote } from '../../../domain/text/url-text.ts';
import type { StoreRow } from '../../../store/wallets/catalog.ts';
import { requireOwnUrl } from '../../../store/wallets/store-setup.ts';
import { field, type PageRequest } from '../../page.ts';
import {
  atField,
  isOn,
  oneOf,
  parseBitcoin,
  type ReadField,
  wholeNumberFrom,
} from '../../parts/form-fields.ts';
import { chosenBefore, Field, Select, Switch } from '../../parts/form-parts.tsx';

/** How many bands the form shows at least. */
const minBandRows = 2;
const secretBytes = 18;
const bandsLabel = storeSettings.confirmationBands.label;
const urls: SettingNames = ['callbackUrl', 'webhookUrl', 'returnUrl'];

export type SettingNames = readonly (keyof StoreSettings)[];

/** Permissions that concern each URL of a store. */
const permissions: SettingNames = ['allowPrivateCallback', 'allowHttpCallback'];

/** The settings of one page. */
export const callbackSettings: SettingNames = [
  ...(['callbackUrl', 'minimumSat', 'omitRbf', 'reversalCallback'] as const),
  ...permissions,
];
export const webhookSettings: SettingNames = ['webhookUrl', 'webhookEvents', ...permissions];
/** Settings of no other page. */
export const generalSettings: SettingNames = storeSettingNames.filter(
  (name) => !callbackSettings.includes(name) && !webhookSettings.includes(name),
);

interface StoreFieldsProps {
  readonly request: PageRequest;
  /** The action of the form that contains the fields. */
  readonly form: string;
  readonly row?: StoreRow;
}

export const StoreFields = ({
  names,
  ...props
}: StoreFieldsProps & { readonly names: SettingNames }) => (
  <>
    {names.map((name) => (
      <SettingField {...props} name={name} />
    ))}
  </>
);

function SettingField({
  request,
  form,
  row,
  name,
}: StoreFieldsProps & { readonly name: keyof StoreSettings }) {
  const setting: StoreSetting = storeSettings[name];
  const value = row?.[name] ?? undefined;
  const { field: fieldName, label } = setting;
  if (setting.kind === 'bands') return <Bands row={row} request={request} />;
  if (setting.kind === 'switch') {
    return (
      <Switch request={request} form={form} name={fieldName} label={label} on={value === true} />
    );
  }
  if (setting.kind === 'choice') {
    return (
      <Select
        name={fieldName}
        label={label}
        options={Object.entries(setting.choices)}
        chosen={chosenBefore(request, form, fieldName) ?? String(value ?? defaultOf(name))}
      />
    );
  }
  if (setting.kind === 'text' && setting.offered !== undefined) {
    return (
      <Select
        request={request}
        name={fieldName}
        label={label}
        help={setting.hint}
        options={setting.offered()}
        chosen={chosenBefore(request, form, fieldName) ?? String(value ?? '')}
      />
    );
  }
  const hint = name === 'callbackUrl' ? urlHint(request, row) : setting.hint;
  const isOptional =
    setting.kind === 'amount' ||
    setting.kind === 'number' ||
    (setting.kind === 'text' && setting.none !== undefined);
  return (
    <Field
      request={request}
      name={fieldName}
      label={label}
      value={shownValue(name, setting, value)}
      {...(hint !== undefined && { help: hint })}
      required={!isOptional}
      attributes={attributesOf(name, setting)}
    />
  );
}

function shownValue(
  name: keyof StoreSettings,
  setting: StoreSetting,
  value: unknown,
): string | number | undefined {
  if (setting.kind === 'number') {
    return (setting.form ?? setting).show((value ?? defaultOf(name)) as number);
  }
  if (setting.kind === 'count') return (value as number | undefined) ?? setting.default;
  if (setting.kind === 'amount') return value ? formatBitcoin(value as number) : undefined;
  return value as string | undefined;
}

const defaultOf = (name: keyof StoreSettings): unknown =>
  ({ ...defaultStoreSettings, name: '', callbackUrl: '' })[name];

function attributesOf(name: keyof StoreSettings, setting: StoreSetting) {
  if (urls.includes(name)) return { inputmode: 'url', spellcheck: 'false', autocomplete: 'off' };
  if (setting.kind === 'count') return { inputmode: 'numeric', pattern: '\\d{1,3}' };
  if (setting.kind === 'amount' || setting.kind === 'number') return { inputmode: 'decimal' };
  return { maxlength: setting.kind === 'text' ? (setting.maxLength ?? 0) : 0 };
}

const urlHint = (request: PageRequest, row: StoreRow | undefined): string =>
  barNote(row?.callbackUrl ?? '') ??
  'Where your shop receives callbacks, such as ' +
    `https://shop.example/callback?secret=${row === undefined ? secretFor(request) : '…'}`;

/** A new secret for a Callback URL: without it, a stranger cannot pretend to be paygate. */
const secretFor = ({ parts }: PageRequest): string =>
  Buffer.from(parts.world.randomBytes(secretBytes)).toString('base64url');

const Bands = ({
  row,
  request,
}: {
  readonly request: PageRequest;
  readonly row: StoreRow | undefined;
}) => {
  const bands = row === undefined ? [] : readBands(row.confirmationBands);
  const rows = Math.max(minBandRows, bands.length + 1);
  return (
    <fieldset>
      <legend>{storeSettings.confirmationBands.label}</legend>
      {Array.from({ length: rows }, (_, place) => (
        <div class="row">
          <Field
            request={request}
            name={`above-${place}`}
            label="Above (BTC)"
            value={aboveOf(bands[place])}
            required={false}
            attributes={{ inputmode: 'decimal' }}
          />
          <Field
            request={request}
            name={`depth-${place}`}
            label="Confirmations"
            value={bands[place]?.confirmations}
            required={false}
            attributes={{ inputmode: 'numeric' }}
          />
        </div>
      ))}
    </fieldset>
  );
};

const aboveOf = (band: Band | undefined): string | undefined =>
  band === undefined ? undefined : formatBitcoin(band.aboveSat);

/**
 * Reads settings of a store.
 * @param before undefined for a new store
 */
export function readSettings(
  request: PageRequest,
  read: ReadField,
  names: SettingNames,
  before?: StoreRow,
): Partial<StoreSettings> {
  const entries = names.map((name) => [name, settingValue(request, read, name)] as const);
  const valid = entries.filter(([, value]) => value !== undefined);
  const settings = Object.fromEntries(valid) as Partial<StoreSettings>;
  const checks = settingChecks(settings, before, request.parts.callbackSender());
  for (const [name, check] of Object.entries(checks)) {
    // A URL of another page may need a permission of this one.
    const shown = names.find((each) => each === name) ?? names[0] ?? 'name';
    read(
      shown === 'confirmationBands' ? 'depth-0' : storeSettings[shown].field,
      storeSettings[shown].label,
      check,
    );
  }
  return settings;
}

/** Undefined if the value is refused. */
function settingValue(request: PageRequest, read: ReadField, name: keyof StoreSettings): unknown {
  const setting: StoreSetting = storeSettings[name];
  if (setting.kind === 'bands') return bandsIn(request, read);
  return read<unknown>(setting.field, setting.label, (text) => {
    switch (setting.kind) {
      case 'switch':
        return isOn(request, setting.field);
      case 'count':
        return wholeNumberFrom(setting.min, setting.max)(text);
      case 'amount':
        return text === '' ? null : parseBitcoin(text) || null;
      case 'choice':
        return text === '' ? defaultOf(name) : oneOf(Object.keys(setting.choices))(text);
      case 'number':
        return text === '' ? defaultOf(name) : (setting.form ?? setting).parse(text);
      case 'text':
        return text === '' && setting.none !== undefined ? setting.none : setting.parse(text);
    }
  });
}

/** Undefined if a field of a band is refused. */
function bandsIn(request: PageRequest, read: ReadField): string | undefined {
  const bands: Band[] = [];
  for (let place = 0; request.form.has(`above-${place}`); place += 1) {
    const [above, depth] = [`above-${place}`, `depth-${place}`] as const;
    if (field(request, above) === '' && field(request, depth) === '') continue;
    const aboveSat = read(above, `${bandsLabel}, Above (BTC)`, parseBitcoin);
    const label = `${bandsLabel}, Confirmations`;
    const confirmations = read(depth, label, wholeNumberFrom(1, maxConfirmations));
    bands.push({ aboveSat, confirmations });
  }
  const isRefused = bands.some((band) => Object.values(band).includes(undefined as never));
  return isRefused ? undefined : writeBands(bands);
}

/**
 * Requires that no other running store has the Callback URL.
 * @throws FieldErrors at its field
 */
export function requireOwnCallbackUrl(...store: Parameters<typeof requireOwnUrl>): void {
  const { field: name, label } = storeSettings.callbackUrl;
  try {
    requireOwnUrl(...store);
  } catch (error) {
    throw atField(name, label, error);
  }
}
