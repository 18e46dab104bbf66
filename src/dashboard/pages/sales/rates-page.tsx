// The price sources: the last response of each, and why one was left out. Showing the page requests
// no price.

import { namedCurrencies, parseCurrency } from '../../../domain/payment/currency.ts';
import { PaygateError } from '../../../lib/errors.ts';
import type { SourcePrice, SourceStatus } from '../../../price/prices.ts';
import { Time } from '../../../web/values.tsx';
import { type ActionResult, base, type Page, type PageRequest } from '../../page.ts';
import { readFields } from '../../parts/form-fields.ts';
import { chosenBefore, Form, Select } from '../../parts/form-parts.tsx';
import { Layout, Table } from '../../parts/layout.tsx';

const here = `${base}/settings/rates`;

export const ratesPage: Page = {
  path: '/settings/rates',
  show: (request) => ratesMarkup(request),
  actions: { ask: requestPrices },
};

function ratesMarkup(request: PageRequest) {
  const { prices } = request.parts;
  return (
    <Layout request={request} title="Rates">
      {prices === undefined ? (
        <p>
          Prices are switched off (--price off): paygate requests none, and payments have no value
          in a currency.
        </p>
      ) : (
        <>
          <p>
            The price is the median of the sources that agree within 5 %. paygate requests prices
            for a shop, for the currency of a store or of an active link, and here; at most once a
            minute.
          </p>
          <SourceTable sources={prices.status()} />
          <Form request={request} action="ask" button="Request now" label="Request prices">
            <Select
              request={request}
              name="currency"
              label="Currency"
              options={namedCurrencies()}
              chosen={chosenBefore(request, 'ask', 'currency') ?? firstCurrency(request)}
            />
          </Form>
        </>
      )}
    </Layout>
  );
}

const firstCurrency = ({ parts }: PageRequest): string =>
  parts.records.catalog.stores().find(({ currency }) => currency !== null)?.currency ?? 'USD';

const SourceTable = ({ sources }: { readonly sources: readonly SourceStatus[] }) => (
  <Table
    label="Sources"
    heads={['Source', 'Currency', 'Price of 1 BTC', 'Left out because', 'Time']}
  >
    {sources.map(({ source, prices }) =>
      prices.length === 0 ? (
        <tr>
          <td>{source}</td>
          <td colspan={4}>not requested yet</td>
        </tr>
      ) : (
        prices.map((price) => <PriceRow source={source} latest={price} />)
      ),
    )}
  </Table>
);

const PriceRow = ({
  source,
  latest,
}: {
  readonly source: string;
  readonly latest: SourcePrice;
}) => (
  <tr>
    <td>{source}</td>
    <td>{latest.currency}</td>
    <td>{latest.price === undefined ? '–' : latest.price.toFixed(2)}</td>
    <td class={latest.fault === undefined ? undefined : 'bad'}>{faultText(latest)}</td>
    <td>
      <Time at={latest.at} />
    </td>
  </tr>
);

function faultText({ price, fault }: SourcePrice): string {
  if (fault !== undefined) return fault;
  return price === undefined ? 'does not have this currency' : '';
}

/** The table of the page shows the result. */
async function requestPrices(request: PageRequest): Promise<ActionResult> {
  const currency = readFields(request, (read) => read('currency', 'Currency', parseCurrency));
  const { prices } = request.parts;
  if (prices === undefined) throw new PaygateError('conflict', 'Prices are switched off.');
  await prices.price(currency).catch((error: unknown) => {
    if (!(error instanceof PaygateError) || error.code !== 'unavailable') throw error;
  });
  return { to: here };
}
