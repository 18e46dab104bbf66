// What a store is asked for, when it is added and when it is changed.

import { checkCallbackUrl } from '../../domain/callback.ts';
import {
  type Band,
  checkPolicy,
  defaultConfirmations,
  mostConfirmations,
  readBands,
  writeBands,
} from '../../domain/confirmation-policy.ts';
import { parseCurrency } from '../../domain/currency.ts';
import { showBitcoin } from '../../domain/format.ts';
import { parseStoreName } from '../../domain/store-name.ts';
import { trimUrl } from '../../domain/url-text.ts';
import type { StoreChange, StoreRow } from '../../store/records/catalog.ts';
import { isOn, parseBitcoin, wholeNumber } from '../form-fields.ts';
import { Field, Switch } from '../layout.tsx';
import { field, type Visit } from '../page.ts';

/** How many bands the form offers; the command line takes more. */
const leastBandRows = 2;
const secretBytes = 18;
const larger = 'Larger amounts';

interface Props {
  readonly visit: Visit;
  /** The form that they are in. */
  readonly does: string;
  readonly row?: StoreRow;
}

export const StoreFields = ({ visit, does, row }: Props) => (
  <>
    <Field
      visit={visit}
      name="name"
      label="Name"
      value={row?.name}
      attributes={{ maxlength: 100 }}
    />
    <Field
      visit={visit}
      name="callback-url"
      label="Callback URL"
      value={row?.callbackUrl}
      help={`Where your shop is told of payments, such as https://shop.example/callback?secret=${row === undefined ? secretFor(visit) : '…'}`}
      attributes={{ inputmode: 'url', spellcheck: 'false', autocomplete: 'off' }}
    />
    <Field
      visit={visit}
      name="confirmations"
      label="Confirmations from which a payment is final"
      value={row?.requiredConfirmations ?? defaultConfirmations}
      attributes={{ inputmode: 'numeric', pattern: '\\d{1,3}' }}
    />
    {/* What was refused, or what allows it, may stand there. */}
    <details open={row !== undefined || visit.problem !== undefined}>
      <summary>More confirmations for large amounts, and what else is special</summary>
      <Bands row={row} visit={visit} />
      <Field
        visit={visit}
        name="minimum"
        label="Tell only payments of at least (BTC)"
        value={row?.minimumSat ? showBitcoin(row.minimumSat) : undefined}
        help="Left empty, every payment is told. Smaller ones are recorded all the same."
        required={false}
        attributes={{ inputmode: 'decimal' }}
      />
      <Field
        visit={visit}
        name="currency"
        label="Currency"
        value={row?.currency ?? undefined}
        help="Such as EUR: what each payment is worth when it is first seen is kept. Left empty, no price is asked for."
        required={false}
        attributes={{ maxlength: 3, pattern: '[A-Za-z]{3}', autocomplete: 'off' }}
      />
      <Switch
        visit={visit}
        does={does}
        name="omit-rbf"
        label="Leave rbf=1 out of callbacks, for plugins that do not count such payments"
        on={row?.omitRbf ?? false}
      />
      <Switch
        visit={visit}
        does={does}
        name="reversal-callback"
        label="Tell status -1 of a payment that vanished after 1 or 2"
        on={row?.reversalCallback ?? false}
      />
      <Switch
        visit={visit}
        does={does}
        name="allow-private"
        label="The Callback URL may lead to a private or loopback address"
        on={row?.allowPrivateCallback ?? false}
      />
      <Switch
        visit={visit}
        does={does}
        name="allow-http"
        label="The Callback URL may be plain http on the public internet"
        on={row?.allowHttpCallback ?? false}
      />
    </details>
  </>
);

/** Ready to be used: whoever does not know it can't pretend to be paygate. */
const secretFor = ({ parts }: Visit): string =>
  Buffer.from(parts.world.randomBytes(secretBytes)).toString('base64url');

const Bands = ({ row, visit }: { readonly visit: Visit; readonly row: StoreRow | undefined }) => {
  const bands = row === undefined ? [] : readBands(row.confirmationBands);
  const rows = Math.max(leastBandRows, bands.length + 1);
  return (
    <fieldset>
      <legend>{larger}</legend>
      {Array.from({ length: rows }, (_, place) => (
        <div class="row">
          <Field
            visit={visit}
            name={`above-${place}`}
            label="Above (BTC)"
            value={aboveOf(bands[place])}
            required={false}
            attributes={{ inputmode: 'decimal' }}
          />
          <Field
            visit={visit}
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
  band === undefined ? undefined : showBitcoin(band.aboveSat);

export type StoreForm = ReturnType<typeof storeFieldsIn>;

/** What of a store stands in its form, in the order of what is read from there. */
export const storeFieldsOf = (row: StoreRow): StoreForm => ({
  name: row.name,
  callbackUrl: row.callbackUrl,
  requiredConfirmations: row.requiredConfirmations,
  confirmationBands: row.confirmationBands,
  reversalCallback: row.reversalCallback,
  omitRbf: row.omitRbf,
  minimumSat: row.minimumSat,
  currency: row.currency,
  allowPrivateCallback: row.allowPrivateCallback,
  allowHttpCallback: row.allowHttpCallback,
});

/** @param before of a store that there is. @throws PaygateError invalid */
export function storeFieldsIn(visit: Visit, before?: StoreRow) {
  const allowPrivateCallback = isOn(visit, 'allow-private');
  const allowHttpCallback = isOn(visit, 'allow-http');
  const callbackUrl = trimUrl(field(visit, 'callback-url'));
  const flags = { allowPrivateCallback, allowHttpCallback };
  checkCallbackUrl(callbackUrl, flags, before, visit.parts.surroundings());
  const confirmations = wholeNumber(visit, 'confirmations', 1, mostConfirmations);
  const bands = bandsIn(visit);
  checkPolicy({ confirmations, bands });
  return {
    name: parseStoreName(field(visit, 'name')),
    callbackUrl,
    requiredConfirmations: confirmations,
    confirmationBands: writeBands(bands),
    reversalCallback: isOn(visit, 'reversal-callback'),
    omitRbf: isOn(visit, 'omit-rbf'),
    minimumSat: minimumIn(visit),
    currency: field(visit, 'currency') === '' ? null : parseCurrency(field(visit, 'currency')),
    allowPrivateCallback,
    allowHttpCallback,
  } satisfies StoreChange;
}

/** Null where every payment is told. */
function minimumIn(visit: Visit): number | null {
  const text = field(visit, 'minimum');
  return text === '' ? null : parseBitcoin(text, 'Tell only payments of at least (BTC)') || null;
}

function bandsIn(visit: Visit): Band[] {
  const bands: Band[] = [];
  for (let place = 0; visit.form.has(`above-${place}`); place += 1) {
    const above = field(visit, `above-${place}`);
    const depth = `depth-${place}`;
    if (above === '' && field(visit, depth) === '') continue;
    const aboveSat = parseBitcoin(above, `${larger}, Above (BTC)`);
    const label = `${larger}, Confirmations`;
    const confirmations = wholeNumber(visit, depth, 1, mostConfirmations, label);
    bands.push({ aboveSat, confirmations });
  }
  return bands;
}
