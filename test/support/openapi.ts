// The served description of the API, as tests read it.

// biome-ignore lint/suspicious/noExplicitAny: tests read any part of the document.
export type Document = any;

/** Each schema of a document, and each within one. */
export function schemasIn(part: Document): Document[] {
  if (typeof part !== 'object' || part === null) return [];
  const here = 'type' in part || 'anyOf' in part ? [part] : [];
  return [...here, ...Object.values(part).flatMap(schemasIn)];
}

/** The same schema without unknown fields; the document allows fields of later versions. */
export function closed(schema: Document): Document {
  const copy = structuredClone(schema);
  for (const each of schemasIn(copy)) if (each.type === 'object') each.additionalProperties = false;
  return copy;
}
