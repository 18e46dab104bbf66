import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  encodeRequest,
  LineFramer,
  parseMessage,
  type RpcMessage,
} from '../../src/electrum/framing.ts';

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);

/** The lines, and the fault that ended them. */
function feed(chunks: readonly Uint8Array[]): { lines: string[]; fault?: string } {
  const framer = new LineFramer();
  const lines: string[] = [];
  try {
    for (const chunk of chunks) for (const line of framer.push(chunk)) lines.push(line);
  } catch (error) {
    return { lines, fault: String(error) };
  }
  return { lines };
}

const cutAt = (bytes: Uint8Array, cuts: readonly number[]): Uint8Array[] => {
  const edges = [0, ...[...cuts].sort((one, other) => one - other), bytes.length];
  return edges.slice(1).map((edge, index) => bytes.subarray(edges[index], edge));
};

describe('lines', () => {
  it('are complete wherever the bytes are split', () => {
    const bytes = bytesOf('{"a":"ü€😀"}\n\n{"b":2}\n{"unfinished"');
    for (let at = 0; at <= bytes.length; at++) {
      expect(feed(cutAt(bytes, [at])).lines).toEqual(['{"a":"ü€😀"}', '', '{"b":2}']);
    }
    expect(feed(Array.from(bytes, (byte) => Uint8Array.of(byte))).lines).toHaveLength(3);
  });

  it('are the same for any split of any bytes, faults included', () => {
    const text = fc.oneof(fc.string({ unit: 'grapheme' }), fc.constantFrom('\n', '\0', '{"id":1}'));
    const bytes = fc.oneof(
      fc.array(text).map((texts) => bytesOf(texts.join(''))),
      fc.uint8Array({ maxLength: 60 }),
    );
    fc.assert(
      fc.property(bytes, fc.array(fc.nat(80)), (all, cuts) => {
        const whole = feed([all, bytesOf('\n')]);
        const within = cuts.map((cut) => Math.min(cut, all.length));
        expect(feed([...cutAt(all, within), bytesOf('\n')])).toEqual(whole);
      }),
    );
  });

  it('before a fault are still returned', () => {
    const bytes = new Uint8Array([...bytesOf('{"a":1}\n'), 0xff, 0x0a]);
    expect(feed([bytes])).toEqual({
      lines: ['{"a":1}'],
      fault: 'PaygateError: the server sent text that is not UTF-8',
    });
  });

  it.each([
    ['a stray continuation byte', [0x80]],
    ['an overlong form', [0xc0, 0xaf]],
    ['a surrogate', [0xed, 0xa0, 0x80]],
    ['a cut sequence', [0xe2, 0x82]],
  ])('refuse %s', (_, bytes) => {
    expect(feed([Uint8Array.from([...bytes, 0x0a])]).fault).toContain('not UTF-8');
  });

  it('with a NUL are refused before their end arrives', () => {
    expect(feed([bytesOf('{"a":\0')]).fault).toContain('NUL');
  });

  it('are at most 9 MB long, however they come', () => {
    const most = new Uint8Array(9_000_000).fill(0x20);
    expect(feed([most, bytesOf('\n')]).lines[0]).toHaveLength(9_000_000);
    const piece = new Uint8Array(65_536).fill(0x20);
    const pieces = Array.from({ length: 200 }, () => piece);
    expect(feed(pieces).fault).toContain('9 MB');
    expect(feed([new Uint8Array(9_000_001).fill(0x20)]).fault).toContain('9 MB');
  });

  it('continue after a long one', () => {
    const long = `"${'x'.repeat(200_000)}"`;
    const { lines } = feed(cutAt(bytesOf(`${long}\n${long}\n1\n`), [1000, 200_001, 300_000]));
    expect(lines).toEqual([long, long, '1']);
  });
});

describe('messages', () => {
  it.each<[string, RpcMessage]>([
    ['{"jsonrpc":"2.0","id":1,"result":null}', { kind: 'result', id: 1, result: null }],
    ['{"id":7,"error":null,"result":[1]}', { kind: 'result', id: 7, result: [1] }],
    [
      '{"id":2,"error":{"code":-32601,"message":"unknown method"}}',
      { kind: 'error', id: 2, code: -32601, text: 'unknown method' },
    ],
    [
      '{"id":3,"error":"no such\\ntransaction"}',
      { kind: 'error', id: 3, code: 0, text: 'no such transaction' },
    ],
    [
      '{"id":4,"error":{"code":"x"},"result":1}',
      { kind: 'error', id: 4, code: 0, text: 'no message' },
    ],
    ['{"method":"m","params":[1]}', { kind: 'notification', method: 'm', params: [1] }],
    ['{"id":null,"method":"m","params":[]}', { kind: 'notification', method: 'm', params: [] }],
  ])('%s', (line, message) => {
    expect(parseMessage(line)).toEqual(message);
  });

  it.each([
    [''],
    ['null'],
    ['1'],
    ['[]'],
    ['[null]'],
    ['[{"id":1,"result":1}]'],
    ['{"id":null,"error":{"code":-32700,"message":"parse error"}}'],
    ['{"error":"what?"}'],
    ['[{"id":1,"result":1},{"id":2}]'],
    ['[{"id":null,"error":{"code":1,"message":"parse error"}}]'],
    ['[{"method":"m","params":[1]}]'],
    ['[[{"id":1,"result":1}]]'],
    ['{}'],
    ['{"id":1}'],
    ['{"id":"1","result":1}'],
    ['{"id":null,"result":1}'],
    ['{"id":1,"method":"server.ping","params":[]}'],
    ['{"method":"m"}'],
    ['{"method":"m","params":{"a":1}}'],
    ['{"method":1,"params":[]}'],
    ['{"id":1,"result":1'],
    ['{"id":1,"result":"a text without an end'],
    ['{"id":1,"result":"\\\\'],
    ['{"id":1,"result":"\\'],
    ['GET / HTTP/1.1'],
    ['\ufeff{"id":1,"result":1}'],
  ])('are refused otherwise: %s', (line) => {
    expect(() => parseMessage(line)).toThrow(/^the server sent /);
  });

  it('are refused when nested deep, before they are parsed', () => {
    expect(() => parseMessage(`{"id":1,"result":${'['.repeat(4_000_000)}`)).toThrow(/nested/);
    const deep = (depth: number): string => `${'['.repeat(depth)}${']'.repeat(depth)}`;
    expect(() => parseMessage(`{"id":1,"result":${deep(16)}}`)).toThrow(/nested/);
    for (const text of ['', 'a', '"', '\\', '\\"', '"\\']) {
      const line = `{"id":1,"result":[${JSON.stringify(text)},${deep(15)}]}`;
      expect(() => parseMessage(line)).toThrow(/nested/);
    }
    expect(parseMessage(`{"id":1,"result":${deep(15)}}`)).toMatchObject({ kind: 'result' });
  });

  it('may hold brackets within their texts', () => {
    const text = `${'[{'.repeat(50)}\\"${'\\\\"'.repeat(1)}`;
    const line = JSON.stringify({ id: 1, result: [text, '\\', '"'] });
    expect(parseMessage(line)).toEqual({ kind: 'result', id: 1, result: [text, '\\', '"'] });
  });

  it('are sent on one line', () => {
    const line = encodeRequest(3, 'blockchain.block.headers', [0, 20]);
    expect(line.endsWith('}\n')).toBe(true);
    expect(JSON.parse(line)).toEqual({
      jsonrpc: '2.0',
      id: 3,
      method: 'blockchain.block.headers',
      params: [0, 20],
    });
  });
});
