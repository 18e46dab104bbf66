// The description of the Greenfield API for programs and people.

import * as z from 'zod';
import type { DocumentForm } from '../api/reference/openapi.ts';
import type { ReferenceNotes } from '../api/reference/reference-page.tsx';

const problem = z.object({ path: z.string(), message: z.string() });

export const greenfieldForm: DocumentForm = {
  description: 'The part of the Greenfield API of BTCPay Server that shop plugins use',
  error: z.union([
    z.looseObject({ code: z.string(), message: z.string() }),
    z.array(problem).describe('422: what is wrong with each field'),
  ]),
  webhooks: () => ({}),
};

const Introduction: ReferenceNotes['Introduction'] = ({ version, base }) => (
  <>
    <h1>Greenfield API of paygate {version}</h1>
    <p>
      Plugins for BTCPay Server call <code>{base}/api/v1</code> with the header{' '}
      <code>Authorization: token KEY</code>. The key is one of a single store, with the scope{' '}
      <code>payments</code>. What is not listed here is answered with 404.
    </p>
    <p>
      The same for programs: <a href="/api/v1/openapi.json">openapi.json</a>. For a shop of your
      own, the <a href="/docs">API of paygate</a> says more.
    </p>
  </>
);

const Errors = () => (
  <section aria-labelledby="errors">
    <h2 id="errors">Errors</h2>
    <p>
      The body has <code>code</code> and <code>message</code>. One of 422 is a list of{' '}
      <code>path</code> and <code>message</code> for each field. One of 403 names the{' '}
      <code>missingPermission</code>.
    </p>
  </section>
);

export const greenfieldNotes: ReferenceNotes = {
  title: 'The Greenfield API of paygate',
  Introduction,
  sections: [['errors', 'Errors', Errors]],
};
