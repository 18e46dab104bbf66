// Tables of parameters and fields on the reference page: name, place, type and meaning. A schema
// with a name is a link to its own table; an object without one unfolds in place.

import { Prose } from '../../web/docs-page.tsx';
import {
  type NamedSchemas,
  type Parameter,
  referenceOf,
  type SchemaObject,
} from './openapi-shape.ts';

/** A parameter, or a field of a JSON object. */
export interface FieldRow extends Omit<Parameter, 'in' | 'required'> {
  readonly in?: Parameter['in'];
  readonly required: boolean;
}

/** The fields of an object; none for another schema. */
export function fieldsOf(
  schema: SchemaObject,
  named: NamedSchemas,
  place?: Parameter['in'],
): FieldRow[] {
  const reference = referenceOf(schema);
  const { properties = {}, required = [] } =
    (reference === undefined ? schema : named[reference]) ?? {};
  return Object.entries(properties).map(([name, { description, ...rest }]) => ({
    name,
    ...(place !== undefined && { in: place }),
    required: required.includes(name),
    ...(description !== undefined && { description }),
    schema: rest,
  }));
}

interface FieldTableProps {
  readonly rows: readonly FieldRow[];
  readonly named: NamedSchemas;
}

export const FieldTable = ({ rows, named }: FieldTableProps) =>
  rows.length === 0 ? (
    ''
  ) : (
    <table class="fields">
      <thead>
        <tr>
          <th scope="col">Name</th>
          <th scope="col">Required</th>
          <th scope="col">Type</th>
          <th scope="col">Meaning</th>
        </tr>
      </thead>
      <tbody>
        {rows.map(({ name, in: place, required, description, schema }) => (
          <tr>
            <td>
              <code>{name}</code>
            </td>
            <td>{`${place === undefined ? '' : `${place}, `}${required ? 'required' : 'optional'}`}</td>
            <td>
              <TypeName schema={schema} />
            </td>
            <td>
              {description !== undefined && <Prose text={description} />}
              <Nested schema={schema} named={named} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );

/** The fields of an object without a name, or of a list of such. */
const Nested = ({
  schema,
  named,
}: {
  readonly schema: SchemaObject;
  readonly named: NamedSchemas;
}) => {
  const object = schema.items ?? schema;
  const rows = object.$ref === undefined ? fieldsOf(object, named) : [];
  return rows.length === 0 ? (
    ''
  ) : (
    <details>
      <summary>Fields</summary>
      <FieldTable rows={rows} named={named} />
    </details>
  );
};

const typeNames: Readonly<Record<string, string>> = { string: 'text', array: 'list' };

/** What values a schema has, in a few terms. */
export const TypeName = ({ schema }: { readonly schema: SchemaObject }) => {
  const reference = referenceOf(schema);
  if (reference !== undefined) return <a href={`#schema-${reference}`}>{reference}</a>;
  const values = schema.enum ?? (schema.const === undefined ? [] : [schema.const]);
  if (values.length > 0)
    return <Alternatives all={values.map((each) => <code>{String(each)}</code>)} />;
  if (schema.anyOf !== undefined) {
    return <Alternatives all={schema.anyOf.map((each) => <TypeName schema={each} />)} />;
  }
  if (schema.items !== undefined) {
    return (
      <>
        list of <TypeName schema={schema.items} />
      </>
    );
  }
  const types = [schema.type ?? 'any'].flat();
  return <>{types.map((type) => typeNames[type] ?? type).join(' or ')}</>;
};

const Alternatives = ({ all }: { readonly all: readonly unknown[] }) => (
  <>
    {all.map((each, index) => (
      <>
        {index > 0 && ' or '}
        {each}
      </>
    ))}
  </>
);
