// The texts of the reference page that no operation has: how to call the API, what needs no key,
// and what errors mean.

import { Prose } from '../../web/docs-page.tsx';
import { refusalCodes, refusals } from './documented-refusals.ts';

export interface IntroductionProps {
  readonly version: string;
  /** Scheme, host and port of this paygate. */
  readonly base: string;
}

export const Introduction = ({ version, base }: IntroductionProps) => (
  <>
    <h1>API of paygate {version}</h1>
    <p>
      Requests go to <code>{base}/api</code>, from your server and never from a browser, with the
      header <code>Authorization: Bearer KEY</code>. The dashboard has the key under Stores. Amounts
      are satoshis, times Unix seconds.
    </p>
    <p>
      The same for programs: <a href="/api/openapi.json">openapi.json</a>. From a key to a shop that
      takes payments: <a href="/docs/quickstart">quickstart</a>. A shop that sums up payments
      itself: <a href="/docs/new-address">addresses and callbacks</a>. Plugins for BTCPay Server use
      the <a href="/docs/greenfield">Greenfield API</a>.
    </p>
    <p>
      Unknown parameters and fields are ignored: <code>new_address?amount=5</code> is answered with
      an address that knows no amount. A price belongs to an <a href="#createOrder">order</a>, or
      stays in your database.
    </p>
  </>
);

/** Addresses that a customer's browser uses. */
export const WithoutKey = () => (
  <section aria-labelledby="without-key">
    <h2 id="without-key">Without a key</h2>
    <table class="fields">
      <thead>
        <tr>
          <th scope="col">Path</th>
          <th scope="col">Kind</th>
          <th scope="col">Meaning</th>
        </tr>
      </thead>
      <tbody>
        <tr>
          <td>
            <code>/api/tx?txid=&amp;addr=</code>
          </td>
          <td>page</td>
          <td>
            The receipt of a payment, for the customer; <code>lang=de</code> asks for a language
          </td>
        </tr>
        <tr>
          <td>
            <code>/payment/ADDRESS</code>
          </td>
          <td>WebSocket</td>
          <td>
            The state of a payment, then each change of it. <code>timestamp=</code> leaves out
            payments before that time. A gone payment is not reported
          </td>
        </tr>
        <tr>
          <td>
            <code>/healthz</code>
          </td>
          <td>GET</td>
          <td>Health; with a key also the reasons</td>
        </tr>
      </tbody>
    </table>
    <p>A message of the socket:</p>
    <pre>
      <code>{'{"status":0,"timestamp":1763650000,"value":25000,"txid":"f4184f…"}'}</code>
    </pre>
  </section>
);

export const Errors = () => (
  <section aria-labelledby="errors">
    <h2 id="errors">Errors</h2>
    <p>
      The HTTP status is the class of an error, and the message says what to do.{' '}
      <code>error.code</code> is the status, or one of the numbers below.
    </p>
    <pre>
      <code>
        {JSON.stringify(
          {
            status: 401,
            message: refusals[401]?.message,
            error: { code: 401, message: refusals[401]?.message },
          },
          null,
          2,
        )}
      </code>
    </pre>
    <p>
      That message of a 401 never changes, because plugins look for it. It means: the header{' '}
      <code>Authorization</code> is missing, lacks <code>Bearer</code>, or has an unknown key. Below{' '}
      <code>/api/v3</code>, the message says which of these it is.
    </p>
    <p>
      Below <code>/api/v3</code>, <code>error.fields</code> has <code>path</code> and{' '}
      <code>message</code> of each field that is wrong. It is missing if no field is.
    </p>
    <table class="fields">
      <thead>
        <tr>
          <th scope="col">Status</th>
          <th scope="col">Code</th>
          <th scope="col">Meaning</th>
          <th scope="col">A message</th>
        </tr>
      </thead>
      <tbody>
        {Object.entries(refusals).map(([status, { description, message }]) => (
          <ErrorRow status={status} code={status} description={description} message={message} />
        ))}
        {Object.entries(refusalCodes).map(([code, { status, description, message }]) => (
          <ErrorRow
            status={String(status)}
            code={code}
            description={description}
            message={message}
          />
        ))}
      </tbody>
    </table>
  </section>
);

interface ErrorRowProps {
  readonly status: string;
  readonly code: string;
  readonly description: string;
  readonly message: string;
}

const ErrorRow = ({ status, code, description, message }: ErrorRowProps) => (
  <tr id={`error-${code}`}>
    <td>{status}</td>
    <td>{code}</td>
    <td>
      <Prose text={description} />
    </td>
    <td>{message}</td>
  </tr>
);
