// The page /docs: the reference of the API for people, made from the OpenAPI document alone but for
// its introduction. It needs no script.

import { html, raw } from 'hono/html';
import type { Child } from 'hono/jsx';
import { lazy } from '../../lib/lazy.ts';
import { docsPage, Prose } from '../../web/docs-page.tsx';
import type { Markup } from '../../web/html-page.ts';
import { exampleOf } from './example-json.ts';
import type { OpenapiDocument, OperationObject, Paths, SchemaObject } from './openapi-shape.ts';
import { Errors, Introduction, type IntroductionProps, WithoutKey } from './reference-notes.tsx';
import { type FieldRow, FieldTable, fieldsOf, TypeName } from './schema-table.tsx';

/** Stands for the URL of this paygate until a request names it. */
const anyBase = 'https://base.invalid';

/** What a page has beside its document. */
export interface ReferenceNotes {
  readonly title: string;
  readonly Introduction: (props: IntroductionProps) => Child;
  readonly sections: readonly (readonly [id: string, name: string, Section: () => Child])[];
}

const ownNotes: ReferenceNotes = {
  title: 'The API of paygate',
  Introduction,
  sections: [
    ['without-key', 'Without a key', WithoutKey],
    ['errors', 'Errors', Errors],
  ],
};

/** Returns the page for a scheme, host and port under which the reader reaches paygate. */
export function createReference(
  document: () => OpenapiDocument,
  notes: ReferenceNotes = ownNotes,
): (base: string) => Markup {
  const page = lazy(() => String(referenceOf(document(), notes)));
  return (base) => raw(page().replaceAll(anyBase, () => String(html`${base}`)));
}

const referenceOf = (
  document: OpenapiDocument,
  { title, Introduction, sections }: ReferenceNotes,
): Markup =>
  docsPage({
    title,
    contents: <Contents document={document} sections={sections} />,
    body: (
      <>
        <Introduction version={document.info.version} base={anyBase} />
        {document.tags.map(({ name }) => (
          <section aria-labelledby={`tag-${name}`}>
            <h2 id={`tag-${name}`}>{name}</h2>
            {operationsIn(document.paths, name).map((entry) => (
              <Operation entry={entry} document={document} />
            ))}
          </section>
        ))}
        <section aria-labelledby="webhooks">
          <h2 id="webhooks">Callbacks and webhooks</h2>
          <p>
            paygate sends these to your shop. The <a href="/docs/quickstart">quickstart</a> has
            receivers that check the signature.
          </p>
          {operationsIn(document.webhooks).map((entry) => (
            <Operation entry={entry} document={document} isWebhook />
          ))}
        </section>
        {sections.map(([, , Section]) => (
          <Section />
        ))}
        <Schemas document={document} />
      </>
    ),
  });

interface Entry {
  readonly method: string;
  readonly path: string;
  readonly operation: OperationObject;
}

const operationsIn = (paths: Paths, tag?: string): Entry[] =>
  Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .map(([method, operation]) => ({ method: method.toUpperCase(), path, operation }))
      .filter(({ operation }) => tag === undefined || operation.tags?.includes(tag)),
  );

/** A path, which may wrap only after a slash. */
const Path = ({ path }: { readonly path: string }) => (
  <code>
    {path.split(/(?<=\/)/).map((part) => (
      <>
        {part}
        <wbr />
      </>
    ))}
  </code>
);

interface ContentsProps extends Pick<ReferenceNotes, 'sections'> {
  readonly document: OpenapiDocument;
}

const Contents = ({ document, sections }: ContentsProps) => (
  <nav class="contents" aria-label="Contents" tabindex={0}>
    <details>
      <summary>Contents</summary>
      {document.tags.map(({ name }) => (
        <ul>
          <li class="tag">
            <a href={`#tag-${name}`}>{name}</a>
          </li>
          {operationsIn(document.paths, name).map(({ method, path, operation }) => (
            <li>
              <a href={`#${operation.operationId}`}>
                {method} <Path path={path} />
              </a>
            </li>
          ))}
        </ul>
      ))}
      <ul>
        {[['webhooks', 'Callbacks and webhooks'], ...sections, ['schemas', 'Schemas']].map(
          ([id, name]) => (
            <li class="tag">
              <a href={`#${id}`}>{name}</a>
            </li>
          ),
        )}
      </ul>
    </details>
  </nav>
);

interface OperationProps {
  readonly entry: Entry;
  readonly document: OpenapiDocument;
  readonly isWebhook?: boolean;
}

const Operation = ({ entry, document, isWebhook = false }: OperationProps) => {
  const { method, path, operation } = entry;
  const { operationId, summary, description, parameters, requestBody } = operation;
  const body = requestBody?.content['application/json'];
  const rows = [
    ...parameters,
    ...(body === undefined ? [] : fieldsOf(body.schema, document.components.schemas, 'body')),
  ];
  const example = isWebhook ? sentExample(entry, document) : curlOf(entry);
  return (
    <article aria-labelledby={operationId}>
      <h3 id={operationId}>
        <span class="pill method">{method}</span>
        {isWebhook ? (
          `Your ${path === 'event' ? 'webhook' : 'Callback'} URL`
        ) : (
          <Path path={`/api${path}`} />
        )}
      </h3>
      <p>{summary}.</p>
      {description !== undefined && (
        <p class="muted">
          <Prose text={description} />
        </p>
      )}
      <FieldTable rows={rows} named={document.components.schemas} />
      <h4>Request</h4>
      <pre>
        <code>{example}</code>
      </pre>
      {!isWebhook && body?.schema !== undefined && (
        <p>
          The body is JSON: <TypeName schema={body.schema} />.
        </p>
      )}
      <Answers operation={operation} />
    </article>
  );
};

const Answers = ({ operation }: Pick<Entry, 'operation'>) => {
  const all = Object.entries(operation.responses);
  const refused = all.filter(([status]) => !status.startsWith('2'));
  return (
    <>
      {all
        .filter(([status]) => status.startsWith('2'))
        .map(([status, { description, content = {} }]) => (
          <>
            <h4>
              <span class="pill good">{status}</span> {description}
              {Object.values(content).map(({ schema }) => (
                <>
                  : <TypeName schema={schema} />
                </>
              ))}
            </h4>
            {Object.values(content).map(({ example }) => (
              <Json value={example} />
            ))}
          </>
        ))}
      {refused.length > 0 && (
        <details>
          <summary>Errors: {refused.map(([status]) => status).join(', ')}</summary>
          <table class="fields">
            <tbody>
              {refused.map(([status, { description, content }]) => (
                <>
                  <tr>
                    <td>
                      <a href="#errors">{status}</a>
                    </td>
                    <td />
                    <td>
                      <Prose text={description} />
                    </td>
                  </tr>
                  {Object.entries(content?.['application/json']?.examples ?? {}).map(
                    ([code, { summary }]) => (
                      <tr>
                        <td>{status}</td>
                        <td>
                          code <a href={`#error-${code}`}>{code}</a>
                        </td>
                        <td>
                          <Prose text={summary} />
                        </td>
                      </tr>
                    ),
                  )}
                </>
              ))}
            </tbody>
          </table>
        </details>
      )}
    </>
  );
};

const Json = ({ value }: { readonly value: unknown }) => (
  <pre>
    <code>{JSON.stringify(value, null, 2)}</code>
  </pre>
);

/** The parameters that an example names: those that must be, or that have an example. */
const exampleQuery = ({ parameters }: OperationObject): string =>
  parameters
    .filter((each) => each.in === 'query' && (each.required || each.schema.examples !== undefined))
    .map(({ name, schema }) => `${name}=${schema.examples?.[0] ?? `$${name.toUpperCase()}`}`)
    .join('&');

function curlOf({ method, path, operation }: Entry): string {
  const target = path.replaceAll(/\{(\w+)\}/g, (_all, name: string) => `$${name.toUpperCase()}`);
  const body = operation.requestBody?.content['application/json'].example;
  const query = body === undefined ? exampleQuery(operation) : '';
  const url = `"${anyBase}/api${target}${query === '' ? '' : `?${query}`}"`;
  const isNamed = method === 'DELETE' || (method === 'POST' && body === undefined);
  return [
    `curl ${isNamed ? `-X ${method} ` : ''}${url}`,
    ...(operation.security?.length === 0 ? [] : ['-H "Authorization: Bearer $KEY"']),
    ...(body === undefined ? [] : [`-d '${spaced(body)}'`]),
  ].join(' \\\n  ');
}

/** JSON that may wrap between its fields. */
const spaced = (value: unknown): string => JSON.stringify(value, null, 1).replaceAll(/\n */g, ' ');

function sentExample({ method, operation }: Entry, { components }: OpenapiDocument): string {
  const body = operation.requestBody?.content['application/json'].example;
  if (body !== undefined) return `${method} /events\n\n${JSON.stringify(body, null, 2)}`;
  const query = operation.parameters
    .filter((each) => each.in === 'query' && each.required)
    .map(({ name, schema }) => `${name}=${exampleOf(schema, components.schemas, name)}`);
  return `${method} /paid?secret=tulip&${query.join('&')}`;
}

const Schemas = ({ document: { components } }: { readonly document: OpenapiDocument }) => (
  <section aria-labelledby="schemas">
    <h2 id="schemas">Schemas</h2>
    <p>A later version may add fields to an answer: ignore those that you do not know.</p>
    {Object.entries(components.schemas).map(([name, schema]) => (
      <>
        <h3 id={`schema-${name}`}>{name}</h3>
        {schema.description !== undefined && (
          <p>
            <Prose text={schema.description} />.
          </p>
        )}
        <NamedSchema
          schema={schema}
          rows={fieldsOf(schema, components.schemas)}
          all={components.schemas}
        />
      </>
    ))}
  </section>
);

interface NamedSchemaProps {
  readonly schema: SchemaObject;
  readonly rows: readonly FieldRow[];
  readonly all: OpenapiDocument['components']['schemas'];
}

const NamedSchema = ({ schema, rows, all }: NamedSchemaProps) =>
  rows.length > 0 ? (
    <FieldTable rows={rows} named={all} />
  ) : (
    <p>
      <TypeName schema={schema} />
    </p>
  );
