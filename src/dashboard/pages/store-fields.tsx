// The settings of a store as a form, made from the table `storeSettings`.

import {
  type Band,
  maxConfirmations,
  readBands,
  writeBands,
} from '../../domain/confirmation-policy.ts';
import { formatBitcoin } from '../../domain/format.ts';
import {
  checkStoreSettings,
  defaultStoreSettings,
  type StoreSetting,
  type StoreSettings,
  storeSettingNames,
  storeSettings,
} from '../../domain/store-settings.ts';
import { PaygateError, reasonOf } from '../../lib/errors.ts';
import type { StoreRow } from '../../store/records/catalog.ts';
import { choiceValue, isOn, parseBitcoin, wholeNumber } from '../form-fields.ts';
import { chosenBefore, Field, Select, Switch } from '../form-parts.tsx';
import { field, type PageRequest } from '../page.ts';

/** How many bands the form shows at least. */
const minBandRows = 2;
const secretBytes = 18;
const bandsLabel = storeSettings.confirmationBands.label;
/** Settings that every store needs; the others are in a part of the form that opens. */
const mainSettings: readonly (keyof StoreSettings)[] = [
  'name',
  'callbackUrl',
  'requiredConfirmations',
];

const urls: readonly (keyof StoreSettings)[] = ['callbackUrl', 'webhookUrl', 'returnUrl'];

interface StoreFieldsProps {
  readonly request: PageRequest;
  /** The action of the form that contains the fields. */
  readonly form: string;
  readonly row?: StoreRow;
}

export const StoreFields = (props: StoreFieldsProps) => (
  <>
    {mainSettings.map((name) => (
      <SettingField {...props} name={name} />
    ))}
    {/* A refused value, or the switch that allows it, may be in this part. */}
    <details open={props.row !== undefined || props.request.problem !== undefined}>
      <summary>More confirmations for large amounts, and other settings</summary>
      {storeSettingNames
        .filter((name) => !mainSettings.includes(name))
        .map((name) => (
          <SettingField {...props} name={name} />
        ))}
    </details>
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
  if (setting.kind === 'number') return setting.show((value ?? defaultOf(name)) as number);
  if (setting.kind === 'count') return (value as number | undefined) ?? setting.default;
  if (setting.kind === 'amount') return value ? formatBitcoin(value as number) : undefined;
  return value as string | undefined;
}

const defaultOf = (name: keyof StoreSettings): unknown =>
  ({ ...defaultStoreSettings, name: '', callbackUrl: '' })[name];

function attributesOf(name: keyof StoreSettings, setting: StoreSetting) {
  if (urls.includes(name)) return { inputmode: 'url', spellcheck: 'false', autocomplete: 'off' };
  if (name === 'currency') return { maxlength: 3, pattern: '[A-Za-z]{3}', autocomplete: 'off' };
  if (setting.kind === 'count') return { inputmode: 'numeric', pattern: '\\d{1,3}' };
  if (setting.kind === 'amount' || setting.kind === 'number') return { inputmode: 'decimal' };
  return { maxlength: setting.kind === 'text' ? (setting.maxLength ?? 0) : 0 };
}

const urlHint = (request: PageRequest, row: StoreRow | undefined): string =>
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

/** @param before undefined for a new store @throws PaygateError invalid */
export function storeSettingsIn(request: PageRequest, before?: StoreRow): StoreSettings {
  const values = storeSettingNames.map((name) => [name, valueIn(request, name)]);
  const settings = Object.fromEntries(values) as StoreSettings;
  checkStoreSettings(settings, before, request.parts.callbackSender());
  return settings;
}

function valueIn(request: PageRequest, name: keyof StoreSettings): unknown {
  const setting: StoreSetting = storeSettings[name];
  const { label, field: fieldName } = setting;
  const text = field(request, fieldName);
  switch (setting.kind) {
    case 'switch':
      return isOn(request, fieldName);
    case 'bands':
      return writeBands(bandsIn(request));
    case 'count':
      return wholeNumber(request, fieldName, setting.min, setting.max);
    case 'amount':
      return text === '' ? null : parseBitcoin(text, label) || null;
    case 'choice':
      return text === ''
        ? defaultOf(name)
        : choiceValue(request, fieldName, Object.keys(setting.choices));
    case 'number':
      return text === '' ? defaultOf(name) : withLabel(label, () => setting.parse(text));
    case 'text':
      return text === '' && setting.none !== undefined ? setting.none : setting.parse(text);
  }
}

/** @throws PaygateError invalid that names the field */
function withLabel<T>(label: string, parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    throw new PaygateError('invalid', `${label}: ${reasonOf(error)}`);
  }
}

function bandsIn(request: PageRequest): Band[] {
  const bands: Band[] = [];
  for (let place = 0; request.form.has(`above-${place}`); place += 1) {
    const above = field(request, `above-${place}`);
    const depth = `depth-${place}`;
    if (above === '' && field(request, depth) === '') continue;
    const aboveSat = parseBitcoin(above, `${bandsLabel}, Above (BTC)`);
    const label = `${bandsLabel}, Confirmations`;
    const confirmations = wholeNumber(request, depth, 1, maxConfirmations, label);
    bands.push({ aboveSat, confirmations });
  }
  return bands;
}
