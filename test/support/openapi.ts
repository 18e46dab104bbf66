// The served description of the API, as tests walk through it.

// biome-ignore lint/suspicious/noExplicitAny: a document is what a test looks at.
export type Document = any;

/** Each schema of a document, and each within one. */
export function schemasIn(part: Document): Document[] {
  if (typeof part !== 'object' || part === null) return [];
  const here = 'type' in part || 'anyOf' in part ? [part] : [];
  return [...here, ...Object.values(part).flatMap(schemasIn)];
}

/** The same, where what is not named is refused: the document itself leaves room for fields of later versions. */
export function closed(schema: Document): Document {
  const copy = structuredClone(schema);
  for (const each of schemasIn(copy)) if (each.type === 'object') each.additionalProperties = false;
  return copy;
}
