// A test payment to the address of a real order: what it does, its form, and the exchange with the
// shop.

import { maxMoneySat } from '../../../bitcoin/transaction.ts';
import type { SentTest } from '../../../delivery/test-callback.ts';
import { sendTestPayment, type TestTarget, testTarget } from '../../../delivery/test-payment.ts';
import { testEffect } from '../../../domain/delivery/test-answer.ts';
import { formatStatus } from '../../../domain/order/state-words.ts';
import { formatShort } from '../../../domain/text/format.ts';
import { PaygateError } from '../../../lib/errors.ts';
import { Amount } from '../../../web/values.tsx';
import { clientOf } from '../../guard/audit-entry.ts';
import { requireRecentPassword } from '../../guard/dashboard-session.ts';
import { type ActionResult, base, idIn, type Page, type PageRequest } from '../../page.ts';
import { Confirmation } from '../../parts/confirmation.tsx';
import { oneOf, readFields, wholeNumberFrom } from '../../parts/form-fields.ts';
import { chosenBefore, Field, Select } from '../../parts/form-parts.tsx';
import { Layout } from '../../parts/layout.tsx';
import { inWordsOfPages } from '../../parts/page-words.ts';
import { TestExchange } from '../stores/store-test-page.tsx';

export const testPaymentPage: Page = {
  path: '/addresses/:id/test',
  show: (request) => testMarkup(request),
  actions: { 'send-payment': sendPayment },
};

const addressPath = (id: number, page = ''): string => `${base}/addresses/${id}${page}`;

interface LinkProps {
  readonly request: PageRequest;
  /** The row of the address. */
  readonly id: number;
}

/** Leads to the page if the address may receive a test payment. */
export const TestPaymentLink = ({ request, id }: LinkProps) =>
  'refusal' in targetOf(request, id) ? null : (
    <a href={addressPath(id, '/test')}>Send a test payment…</a>
  );

/** @throws PaygateError not_found for an address that was not issued */
function targetOf({ parts, now }: PageRequest, id: number): TestTarget | { refusal: string } {
  const { address } = parts.records.addressView.address(id);
  try {
    return testTarget(parts.records, address, now);
  } catch (error) {
    if (!(error instanceof PaygateError) || error.code === 'internal') throw error;
    return { refusal: inWordsOfPages(error.message) };
  }
}

function testMarkup(request: PageRequest) {
  const id = idIn(request);
  const { address } = request.parts.records.addressView.address(id);
  const target = targetOf(request, id);
  return (
    <Layout request={request} title={`Test payment to ${formatShort(address)}`}>
      {'refusal' in target ? (
        <p>
          No test payment can be sent: {target.refusal} <a href={addressPath(id)}>The address</a>
        </p>
      ) : (
        <TestForm request={request} target={target} id={id} />
      )}
    </Layout>
  );
}

const statuses = ['0', '1', '2'] as const;

interface FormProps extends LinkProps {
  readonly target: TestTarget;
}

const TestForm = ({ request, target: { row, address, orderSat }, id }: FormProps) => (
  <Confirmation
    request={request}
    action="send-payment"
    button="Send test payment"
    consequences={[
      `The store ${row.name} gets the callback of a payment to ${address}.`,
      testEffect,
      'Its transaction id says that it is a test. paygate records no payment.',
      'Cancel the order in the shop afterwards, so that nothing is shipped.',
    ]}
    cancel={addressPath(id)}
  >
    <Field
      request={request}
      name="value"
      label="Amount in satoshis"
      value={orderSat}
      attributes={{ inputmode: 'numeric' }}
    />
    <Select
      name="status"
      label="Status"
      options={statuses.map((each) => [each, formatStatus(Number(each) as 0 | 1 | 2)])}
      chosen={chosenBefore(request, 'send-payment', 'status')}
    />
  </Confirmation>
);

async function sendPayment(request: PageRequest): Promise<ActionResult> {
  const { parts } = request;
  await requireRecentPassword(request);
  const { address } = parts.records.addressView.address(idIn(request));
  const payment = readFields(request, (read) => ({
    address,
    valueSat: read('value', 'Amount in satoshis', wholeNumberFrom(1, maxMoneySat)),
    status: Number(read('status', 'Status', oneOf(statuses))) as 0 | 1 | 2,
  }));
  const sent = await sendTestPayment(parts, clientOf(request), payment);
  return { show: sentMarkup(request, sent) };
}

const sentMarkup = (request: PageRequest, sent: SentTest) => (
  <Layout request={request} title={`Test payment to ${formatShort(sent.facts.address)}`}>
    <p>
      <Amount sat={sent.facts.valueSat} /> with status {formatStatus(sent.facts.status)} to{' '}
      <code>{sent.facts.address}</code>. paygate recorded no payment.
    </p>
    <TestExchange sent={sent} />
    <p>
      <a href={request.url}>Send another one…</a>, or{' '}
      <a href={addressPath(idIn(request))}>back to the address</a>
    </p>
  </Layout>
);
