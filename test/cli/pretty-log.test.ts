// The two formats of the log, with an entry as `serve` writes it.

import { expect, test } from 'vitest';
import { prettyLines } from '../../src/cli/service/pretty-log.ts';
import { createNodeWorld } from '../../src/world/node-world.ts';

const fields = {
  ...{ paymentId: 1, storeId: 1, address: 'bcrt1qshop', valueSat: 25_000 },
  ...{ txid: 'ab'.repeat(32), status: 2 },
};

/** What `serve` writes for one payment. */
function written(format: 'json' | 'pretty', hasColour = false): string {
  let text = '';
  const lines = {
    write(line: string) {
      text += line;
    },
  };
  const logDestination = format === 'json' ? lines : prettyLines(lines, hasColour);
  createNodeWorld({ logLevel: 'info', logDestination }).log.info('payment confirmed', fields);
  return text;
}

test('JSON has the facts as fields', () => {
  expect(JSON.parse(written('json'))).toEqual({
    ...{ level: 'info', message: 'payment confirmed', time: expect.any(String) },
    ...fields,
  });
});

test('pretty has the message and the facts on one line', () => {
  const [line = '', end] = written('pretty').split('\n');
  const [, facts = ''] = /^\[\d{4}-.*\] INFO: payment confirmed (\{.*\})$/.exec(line) ?? [];
  expect([JSON.parse(facts), end]).toEqual([fields, '']);
});

test('pretty has colours only if it is told so', () => {
  expect(written('pretty', true)).toContain('\x1b[');
  expect(written('pretty', false)).not.toContain('\x1b[');
});
