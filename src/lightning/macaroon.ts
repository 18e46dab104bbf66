// Reads which operations a macaroon of LND permits: they stand in its identifier, which is signed.
// Sources: libmacaroons, binary format 2; macaroon-bakery v2, MacaroonId (a protocol buffer).

const format = 2;
const idVersion = 3;
const identifierType = 2;
/** Tags of protocol buffers: the number of a field, and that its length stands before it. */
const operations = (3 << 3) | 2;
const entity = (1 << 3) | 2;
const action = (2 << 3) | 2;

/** As LND writes them, sorted: `invoices:read`. Empty for what is no macaroon of LND. */
export function permissionsOf(macaroon: Uint8Array): readonly string[] {
  if (macaroon[0] !== format) return [];
  const id = fieldsIn(macaroon.subarray(1)).find(({ type }) => type === identifierType)?.data;
  if (id?.[0] !== idVersion) return [];
  const permissions = fieldsIn(id.subarray(1))
    .filter(({ type }) => type === operations)
    .flatMap(({ data }) => {
      const texts = (wanted: number): string[] =>
        fieldsIn(data).flatMap((each) =>
          each.type === wanted ? [Buffer.from(each.data).toString('utf8')] : [],
        );
      return texts(action).map((each) => `${texts(entity).join()}:${each}`);
    });
  return permissions.sort();
}

interface Field {
  readonly type: number;
  readonly data: Uint8Array;
}

/** Fields with a type, a length and data, up to a type of 0 or to what is no field. */
function fieldsIn(bytes: Uint8Array): Field[] {
  const fields: Field[] = [];
  let at = 0;
  function varint(): number {
    let value = 0;
    for (let scale = 1; ; scale *= 128) {
      const byte = bytes[at] ?? 0;
      at += 1;
      value += (byte & 127) * scale;
      if (byte < 128) return value;
    }
  }
  while (at < bytes.length) {
    const type = varint();
    const length = type === 0 ? Number.NaN : varint();
    const data = bytes.subarray(at, at + length);
    if (data.length !== length) break;
    at += length;
    fields.push({ type, data });
  }
  return fields;
}
