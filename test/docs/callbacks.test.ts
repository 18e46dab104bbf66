// Runs the receivers and vectors that docs/callbacks.md gives to merchants.

import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Webhook } from 'standardwebhooks';
import { afterAll, describe, expect, it } from 'vitest';
import { signatureHeaders } from '../../src/delivery/signature.ts';
import { testTxid } from '../../src/delivery/test-callback.ts';

const page = readFileSync('docs/callbacks.md', 'utf8');

function codeOf(language: string): string {
  const [, code] = new RegExp(`\n\`\`\`${language}\n(.*?)\n\`\`\`\n`, 's').exec(page) ?? [];
  if (code === undefined) throw new Error(`no ${language} in docs/callbacks.md`);
  return code;
}

interface Vector {
  readonly secrets: readonly string[];
  readonly id: string;
  readonly timestamp: number;
  readonly query: string;
  readonly signature: string;
}

const vectors: readonly Vector[] = JSON.parse(codeOf('json'));

/** One request, and whether it is genuine. */
type Case = readonly [{ [name: string]: string | number | null }, boolean];

const cases: readonly Case[] = vectors.flatMap(({ secrets, signature, ...vector }) =>
  secrets.flatMap((secret): Case[] => {
    const timestamp = String(vector.timestamp);
    const genuine = { ...vector, timestamp, secret, signature, now: vector.timestamp };
    const forged = [
      { query: vector.query.replace('value=25000', 'value=25001') },
      { query: vector.query.replace('status=', 'status=%32') },
      { id: `${vector.id}x` },
      { timestamp: String(vector.timestamp + 1) },
      { timestamp: 'soon' },
      { timestamp: '9'.repeat(5_000) },
      { timestamp: '' },
      { secret: `whsec_${Buffer.alloc(32).toString('base64')}` },
      { signature: signature.replaceAll('v1,', 'v2,') },
      { signature: 'v1,é' },
      { signature: '' },
      // Missing headers.
      { signature: null },
      { timestamp: null },
      { id: null },
      { id: null, timestamp: null, signature: null, query: '' },
      { now: vector.timestamp + 300 },
      { now: vector.timestamp - 300 },
    ];
    return [
      [genuine, true],
      [{ ...genuine, now: vector.timestamp + 299 }, true],
      ...forged.map((change): Case => [{ ...genuine, ...change }, false]),
    ];
  }),
);

describe('the vectors', () => {
  it('are what paygate signs, and what the npm package standardwebhooks signs', () => {
    expect(vectors).toHaveLength(3);
    for (const { secrets, id, timestamp, query, signature } of vectors) {
      const headers = signatureHeaders({ eventId: id, timestamp, payload: query }, secrets);
      expect(headers['webhook-signature']).toBe(signature);
      const theirs = secrets.map((secret) =>
        new Webhook(secret).sign(id, new Date(timestamp * 1000), query),
      );
      expect(theirs.join(' ')).toBe(signature);
    }
  });
});

const payment = (status: number, value: number, txid: string, addr = 'bc1qours') =>
  `secret=tulip&status=${status}&addr=${addr}&value=${value}&txid=${txid}`;

/** Callbacks for one order of 25000 sat, each with its answer and whether the order is paid. */
const story: readonly (readonly [query: string, answer: number, isPaid: boolean])[] = [
  [payment(0, 25_000, testTxid, 'bc1qnobody'), 200, false],
  [payment(0, 25_000, 'aa', 'bc1qother'), 404, false],
  [payment(0, 20_000, 'aa'), 200, false],
  [payment(1, 20_000, 'aa'), 200, false],
  [payment(2, 20_000, 'aa'), 200, false],
  [payment(2, 20_000, 'aa'), 200, false],
  [payment(0, 5_000, 'bb'), 200, false],
  [payment(1, 5_000, 'bb'), 200, false],
  [`status=0&${payment(2, 5_000, 'bb')}`, 200, true],
  [payment(2, 1, 'cc'), 200, true],
  [payment(-1, 20_000, 'aa'), 200, false],
];

/** Each program reads cases and story from a file and prints its results as JSON. */
const receivers = {
  node: {
    language: 'js',
    file: 'receiver.mjs',
    program: (code: string) => `${code}
import { readFileSync } from 'node:fs';
const { cases, story } = JSON.parse(readFileSync(process.argv[2], 'utf8'));
const order = { totalSat: 25000, payments: {}, isPaid: false };
const orders = new Map([['bc1qours', order]]);
console.log(JSON.stringify({
  judged: cases.map((c) => isGenuine(c.secret, c.id ?? undefined, c.timestamp ?? undefined, c.signature ?? undefined, c.query, c.now)),
  told: story.map((query) => [query, take(query, orders), order.isPaid]),
}));`,
  },
  python3: {
    language: 'python',
    file: 'receiver.py',
    program: (code: string) => `${code}
import json, sys
given = json.load(open(sys.argv[1]))
order = {"totalSat": 25000, "payments": {}, "isPaid": False}
print(json.dumps({
  "judged": [is_genuine(c["secret"], c["id"], c["timestamp"], c["signature"], c["query"], c["now"]) for c in given["cases"]],
  "told": [[query, take(query, {"bc1qours": order}), order["isPaid"]] for query in given["story"]],
}))`,
  },
  php: {
    language: 'php',
    file: 'receiver.php',
    program: (code: string) => `<?php
${code}
$given = json_decode(file_get_contents($argv[1]), true);
$orders = ['bc1qours' => ['totalSat' => 25000, 'payments' => [], 'isPaid' => false]];
$told = [];
foreach ($given['story'] as $query) $told[] = [$query, take($query, $orders), $orders['bc1qours']['isPaid']];
echo json_encode(['told' => $told, 'judged' => array_map(fn($c) =>
  is_genuine($c['secret'], $c['id'], $c['timestamp'], $c['signature'], $c['query'], $c['now']), $given['cases'])]);`,
  },
} as const;

describe('the receivers', () => {
  const folder = mkdtempSync(join(tmpdir(), 'paygate-docs-'));
  afterAll(() => rmSync(folder, { recursive: true }));

  const interpreters = Object.keys(receivers) as (keyof typeof receivers)[];
  const [atHand, missing] = [true, false].map((wanted) =>
    interpreters.filter((name) => isAtHand(name) === wanted),
  ) as [typeof interpreters, typeof interpreters];
  for (const name of missing) {
    process.stdout.write(
      `docs/callbacks.md: ${name} is not installed here, 0 of ${cases.length} run\n`,
    );
  }

  it('are run by node at least', () => {
    expect(atHand).toContain('node');
  });

  it.each(atHand)(
    'in %s distinguishes genuine from forged requests, and paid from unpaid orders',
    (name) => {
      const { language, file, program } = receivers[name];
      const [path, asked] = [join(folder, file), join(folder, 'cases.json')];
      writeFileSync(path, program(codeOf(language)));
      const given = {
        cases: cases.map(([request]) => request),
        story: story.map(([query]) => query),
      };
      writeFileSync(asked, JSON.stringify(given));
      const { judged, told } = JSON.parse(execFileSync(name, [path, asked], { encoding: 'utf8' }));
      expect(judged).toEqual(cases.map(([, isGenuine]) => isGenuine));
      expect(told).toEqual(story);
    },
  );
});

function isAtHand(interpreter: string): boolean {
  try {
    execFileSync(interpreter, ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}
