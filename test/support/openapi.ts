// The served description of the API, as tests read it.

import { z } from 'zod';

// biome-ignore lint/suspicious/noExplicitAny: tests read any part of the document.
export type Document = any;

/** Each schema of a document, and each within one. */
export function schemasIn(part: Document): Document[] {
  if (typeof part !== 'object' || part === null) return [];
  const here = 'type' in part || 'anyOf' in part ? [part] : [];
  return [...here, ...Object.values(part).flatMap(schemasIn)];
}

/**
 * What reads exactly the values of a schema of the document. Unknown fields are refused, though the
 * document allows fields of later versions.
 */
export function shapeOf({ components }: Document, schema: Document): z.ZodType {
  const copy = structuredClone({ ...schema, $defs: components.schemas });
  for (const each of schemasIn(copy)) {
    if (each.type === 'object') each.additionalProperties ??= false;
  }
  const text = JSON.stringify(copy).replaceAll('"#/components/schemas/', '"#/$defs/');
  return z.fromJSONSchema(JSON.parse(text));
}
