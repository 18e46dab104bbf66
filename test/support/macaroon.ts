// Writes macaroons as LND bakes them, with a signature that no node made.

const varint = (value: number): number[] =>
  value < 128 ? [value] : [(value & 127) | 128, ...varint(value >> 7)];

const block = (type: number, data: readonly number[]): number[] => [
  ...varint(type),
  ...varint(data.length),
  ...data,
];

const text = (value: string): number[] => [...Buffer.from(value)];

/** A macaroon in hex. @param operations entity and actions: `[['invoices', ['read']]]` */
export function writeMacaroon(
  operations: readonly (readonly [string, readonly string[]])[],
  { format = 2, idVersion = 3 } = {},
): string {
  const id = [
    idVersion,
    ...block(10, Array(16).fill(7)),
    ...block(18, text('0')),
    ...operations.flatMap(([entity, actions]) =>
      block(26, [
        ...block(10, text(entity)),
        ...actions.flatMap((action) => block(18, text(action))),
      ]),
    ),
  ];
  const fields = [...block(1, text('lnd')), ...block(2, id), 0, 0, ...block(6, Array(32).fill(9))];
  return Buffer.from([format, ...fields]).toString('hex');
}
