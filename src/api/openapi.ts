// The description of the API for programs (OpenAPI 3.1) and for people. It is made from the
// operations and the schemas that read requests, so that it can not be outdated.
// https://spec.openapis.org/oas/v3.1.1

import { html } from 'hono/html';
import { z } from 'zod';
import { isAllowed, keyScopes } from '../domain/key-scope.ts';
import { version } from '../lib/version.ts';
import type { Markup } from '../web/html-page.ts';
import { type KeyedOperation, type Operation, tags } from './operation.ts';
import { webhookBody } from './order-schemas.ts';
import { satoshis } from './shared-schemas.ts';

type Json = Record<string, unknown>;
type Method = Operation['methods'][number];

const error = z
  .object({
    status: z.int().describe('The HTTP status again'),
    message: z.string().describe('What is wrong, and what to do'),
    error: z.object({
      code: z.int().describe('1001, 1003, 1008, 1032, or the HTTP status'),
      message: z.string().describe('The message again'),
    }),
  })
  .meta({ id: 'Error' });

const refusals: Readonly<Record<string, string>> = {
  400: 'Invalid request',
  401: 'Missing or invalid API key',
  403: 'The key may not do this',
  404: 'Not found',
  413: 'The body is larger than 16 KiB',
  414: 'The URL is longer than 8 KiB',
  429: 'Too often; Retry-After says how long to wait',
  500: 'A bug; the log of paygate says more',
  503: 'Not now; Retry-After says how long to wait',
};
/** Headers of refusals that are temporary. */
const wait = { 'Retry-After': { description: 'Seconds', schema: { type: 'integer', minimum: 1 } } };
const passing = ['429', '503'];
/** Refusals of operations with a key, and of those with a body. */
const ofKeys = ['401', '403'];
const ofBodies = ['413'];

/** Schemas with a name of their own, by which others refer to them. */
type Named = Record<string, Json>;

/** @param named receives the named schemas within */
function schemaOf(schema: z.ZodType, io: 'input' | 'output', named: Named): Json {
  const { $schema, $defs, ...rest } = z.toJSONSchema(schema, {
    io,
    // Generators of clients make a 32-bit float of a literal of the type number.
    override: ({ jsonSchema }) => {
      const values = jsonSchema.enum ?? [jsonSchema.const];
      if (values.every(Number.isInteger)) jsonSchema.type = 'integer';
      // Without this, older clients would refuse answers with new fields.
      if (jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties;
    },
  });
  const moved = inComponents({ $defs, rest }) as { $defs?: Named; rest: Json };
  Object.assign(named, moved.$defs);
  return moved.rest;
}

/** The same value, with its references into the components of the document. */
const inComponents = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value).replaceAll('"#/$defs/', '"#/components/schemas/'));

/** The name of an operation for clients, such as `getNewAddress`. */
const nameOf = ({ name, path }: Operation, method: Method): string =>
  name ??
  [method.toLowerCase(), ...path.matchAll(/[a-z0-9]+/g)]
    .map(String)
    .map((word, at) => (at === 0 ? word : `${word[0]?.toUpperCase()}${word.slice(1)}`))
    .join('');

const onlyInWindow = 'Only while "Connect a plugin" is open for the key.';

/** The scopes whose keys may call an operation by a method. */
const scopesOf = ({ issues, writes }: KeyedOperation, method: Method): string[] =>
  keyScopes.filter(
    (scope) =>
      isAllowed(scope, { method, issues: issues ?? false }) && (!writes || scope === 'payments'),
  );

interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header' | 'body';
  readonly required: boolean;
  readonly description?: string;
  readonly schema: Json;
}

interface ObjectSchema {
  readonly properties?: Record<string, Json & { description?: string }>;
  readonly required?: string[];
}

function parameters(
  schema: z.ZodObject | undefined,
  place: Parameter['in'],
  named: Named = {},
): Parameter[] {
  if (schema === undefined) return [];
  const given = schemaOf(schema, 'input', named);
  const name = typeof given.$ref === 'string' ? given.$ref.split('/').at(-1) : undefined;
  const { properties = {}, required = [] } = (
    name === undefined ? given : named[name]
  ) as ObjectSchema;
  return Object.entries(properties).map(([name, { description, ...rest }]) => ({
    name,
    in: place,
    required: place === 'path' || required.includes(name),
    ...(description !== undefined && { description }),
    schema: rest,
  }));
}

const parametersOf = ({ params, query, headers }: Operation, named?: Named): Parameter[] => [
  ...parameters(params, 'path', named),
  ...parameters(query, 'query', named),
  ...parameters(headers, 'header', named),
];

const json = (schema: Json, example?: unknown): Json => ({
  'application/json': { schema, ...(example !== undefined && { example }) },
});

function callersOf(operation: KeyedOperation, method: Method): string {
  const scopes = `For keys of the scope ${scopesOf(operation, method).join(', ')}.`;
  return operation.writes ? `${scopes} ${onlyInWindow}` : scopes;
}

function refusalsOf({ open, conflict, gone }: Operation, method: Method): Json {
  const described = Object.entries({
    ...refusals,
    ...(conflict !== undefined && { 409: conflict }),
    ...(gone !== undefined && { 410: gone }),
  })
    .filter(([status]) => !(open && ofKeys.includes(status)))
    .filter(([status]) => method !== 'GET' || !ofBodies.includes(status))
    .map(([status, description]) => [
      status,
      {
        description,
        ...(passing.includes(status) && { headers: wait }),
        content: json({ $ref: '#/components/schemas/Error' }),
      },
    ]);
  return Object.fromEntries(described);
}

function describe(operation: Operation, method: Method, named: Named): Json {
  const { summary, tag, body, example, answer, open } = operation;
  return {
    operationId: nameOf(operation, method),
    tags: [tag],
    summary,
    description: open ? 'For everybody, without a key.' : callersOf(operation, method),
    ...(open && { security: [] }),
    parameters: parametersOf(operation, named),
    ...(body !== undefined &&
      method === 'POST' && {
        requestBody: {
          // An operation with GET takes the same from its query.
          required: !operation.methods.includes('GET'),
          content: json(schemaOf(body, 'input', named), example),
        },
      }),
    responses: {
      200: { description: 'Done', content: json(schemaOf(answer, 'output', named)) },
      ...refusalsOf(operation, method),
    },
  };
}

const callbackQuery = z.object({
  status: z.literal([-1, 0, 1, 2]).describe('-1 only where the store asks for it'),
  addr: z.string(),
  value: satoshis,
  txid: z.string(),
  rbf: z.literal(1).optional().describe('An unconfirmed payment that can be replaced'),
});

/** https://www.standardwebhooks.com */
const signature = z.object({
  'webhook-id': z.string().describe('The same for each attempt'),
  'webhook-timestamp': z.string().describe('Unix seconds of the attempt'),
  'webhook-signature': z.string().describe('v1,… by the whsec_ secret of the store'),
});

/** Requests that paygate sends to a shop. */
const webhooksOf = (named: Named): Json => ({
  callback: {
    get: {
      operationId: 'receiveCallback',
      summary: 'A payment to an issued address, sent to the Callback URL of the store',
      security: [],
      parameters: [...parameters(callbackQuery, 'query'), ...parameters(signature, 'header')],
      responses: { 200: { description: 'Received; any other status is sent again' } },
    },
  },
  event: {
    post: {
      operationId: 'receiveEvent',
      summary: 'A change of an order or a payment, sent to the webhook URL of the store',
      security: [],
      parameters: parameters(signature, 'header'),
      requestBody: { content: json(schemaOf(webhookBody, 'output', named)) },
      responses: { '2XX': { description: 'Received; any other status is sent again' } },
    },
  },
});

export function openapiOf(operations: readonly Operation[]): Json {
  const paths: Record<string, Json> = {};
  const named: Named = {};
  schemaOf(error, 'output', named);
  for (const operation of operations) {
    for (const method of operation.methods) {
      paths[operation.path] = {
        ...paths[operation.path],
        [method.toLowerCase()]: describe(operation, method, named),
      };
    }
  }
  return {
    openapi: '3.1.1',
    info: {
      title: 'paygate',
      version,
      description: 'Bitcoin payments to your own wallet',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '/api' }],
    security: [{ key: [] }],
    tags: tags.map((name) => ({ name })),
    paths,
    webhooks: webhooksOf(named),
    components: {
      securitySchemes: { key: { type: 'http', scheme: 'bearer' } },
      schemas: named,
    },
  };
}

function remarkOn(operation: Operation): string {
  if (operation.open) return 'It needs no key.';
  return operation.writes ? onlyInWindow : '';
}

/** The body of the page for people. */
export const docsOf = (operations: readonly Operation[]): Markup => html`<h1>paygate ${version}</h1>
  <p>
    Paths are below <code>/api</code>; send <code>Authorization: Bearer KEY</code>. Amounts are satoshis,
    times Unix seconds. The same for programs: <a href="/api/openapi.json">openapi.json</a>. How a shop uses it:
    <a href="/docs/quickstart">quickstart</a>.
  </p>
  ${operations.map(
    (operation) => html`<h2><code>${operation.methods.join(' | ')} ${operation.path}</code></h2>
      <p>${operation.summary}. ${remarkOn(operation)}</p>
      <div class="scroll" role="region" aria-label="${`Parameters of ${operation.methods.join(' | ')} ${operation.path}`}" tabindex="0"><table>
        ${[...parametersOf(operation), ...parameters(operation.body, 'body')].map(
          ({ name, in: place, required, description = '' }) => html`<tr>
            <td><code>${name}</code></td>
            <td>${place}, ${required ? 'required' : 'optional'}</td>
            <td>${description}</td>
          </tr>`,
        )}
      </table></div>`,
  )}`;
