// Example values for the documentation: that of a schema, or one that fits its type and the name
// of the field. A test checks each against its schema.

import { type NamedSchemas, referenceOf, type SchemaObject } from './openapi-shape.ts';

const address = 'bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4';
/** The account key of the test vectors of BIP 84. */
const account =
  'zpub6rFR7y4Q2AijBEqTUquhVz398htDFrtymD9xYYfG1m4wAcvPhXNfE3EfH1r1ADqtfSdVCToUG868RvUUkgDKf31mGDtKsAYz2oz2AGutZYs';
const callbackUrl = 'https://shop.example/paid?secret=tulip';

/** Values by field name. */
const byName: Readonly<Record<string, unknown>> = {
  addr: address,
  address,
  account,
  xpub: account,
  txid: 'f4184fc596403b9d638783cf57adfe4c75c605f6356fbc91338530e9831e9e16',
  name: 'Shop',
  http_callback: callbackUrl,
  callback: callbackUrl,
  tag: 'Shop',
  value: 25_000,
  confirmed: 25_000,
  unconfirmed: 0,
  size: 223,
  fee: 1_420,
  time: 1_763_650_000,
  created_at: 1_763_650_000,
  price: 67_866.85,
  xpub_index: 2,
  gap_limit: 20,
};

/** Fields that are present only in special cases. */
const special = new Set(['replaced_by', 'dropped', 'reset', 'rbf']);

/** An example of a schema's values. */
export function exampleOf(schema: SchemaObject, named: NamedSchemas, field = ''): unknown {
  const reference = referenceOf(schema);
  if (reference !== undefined) return exampleOf(named[reference] ?? {}, named, field);
  if (schema.examples !== undefined) return schema.examples[0];
  const values = schema.enum ?? (schema.const === undefined ? [] : [schema.const]);
  if (values.length > 0) return values[0];
  const [choice] = schema.anyOf?.filter(({ type }) => type !== 'null') ?? [];
  if (choice !== undefined) return exampleOf(choice, named, field);
  switch ([schema.type].flat().find((type) => type !== 'null')) {
    case 'object':
      return objectOf(schema, named);
    case 'array':
      return [exampleOf(schema.items ?? {}, named, field)];
    case 'integer':
    case 'number':
      return byName[field] ?? Math.max(schema.minimum ?? 1, 0);
    case 'boolean':
      return true;
    default:
      return byName[field] ?? 'text';
  }
}

function objectOf(
  { properties = {}, required = [] }: SchemaObject,
  named: NamedSchemas,
): Record<string, unknown> {
  const shown = Object.entries(properties).filter(
    ([name]) => required.includes(name) || !special.has(name),
  );
  return Object.fromEntries(shown.map(([name, schema]) => [name, exampleOf(schema, named, name)]));
}
