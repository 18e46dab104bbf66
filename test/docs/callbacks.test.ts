// The receivers and vectors that docs/callbacks.md gives to merchants, run as they stand there.

import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Webhook } from 'standardwebhooks';
import { afterAll, describe, expect, it } from 'vitest';
import { signatureHeaders } from '../../src/delivery/signature.ts';

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

/** One request to judge, and whether it is genuine. */
type Case = readonly [{ [name: string]: string | number }, boolean];

const cases: readonly Case[] = vectors.flatMap(({ secrets, signature, ...vector }) =>
  secrets.flatMap((secret): Case[] => {
    const genuine = { ...vector, secret, signature, now: vector.timestamp };
    const forged = [
      { query: vector.query.replace('value=25000', 'value=25001') },
      { query: vector.query.replace('status=', 'status=%32') },
      { id: `${vector.id}x` },
      { timestamp: vector.timestamp + 1 },
      { secret: `whsec_${Buffer.alloc(32).toString('base64')}` },
      { signature: signature.replaceAll('v1,', 'v2,') },
      { signature: 'v1,é' },
      { signature: '' },
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
      const headers = signatureHeaders({ eventId: id, timestamp, query }, secrets);
      expect(headers['webhook-signature']).toBe(signature);
      const theirs = secrets.map((secret) =>
        new Webhook(secret).sign(id, new Date(timestamp * 1000), query),
      );
      expect(theirs.join(' ')).toBe(signature);
    }
  });
});

/** Each program reads the cases from a file and prints a JSON array of its judgements. */
const receivers = {
  node: {
    language: 'js',
    file: 'receiver.mjs',
    program: (code: string) => `${code}
import { readFileSync } from 'node:fs';
const cases = JSON.parse(readFileSync(process.argv[2], 'utf8'));
console.log(JSON.stringify(cases.map((c) =>
  isGenuine(c.secret, c.id, String(c.timestamp), c.signature, c.query, c.now))));`,
  },
  python3: {
    language: 'python',
    file: 'receiver.py',
    program: (code: string) => `${code}
import json, sys
cases = json.load(open(sys.argv[1]))
print(json.dumps([is_genuine(c["secret"], c["id"], str(c["timestamp"]), c["signature"], c["query"], c["now"]) for c in cases]))`,
  },
  php: {
    language: 'php',
    file: 'receiver.php',
    program: (code: string) => `<?php
${code}
$cases = json_decode(file_get_contents($argv[1]), true);
echo json_encode(array_map(fn($c) =>
  is_genuine($c['secret'], $c['id'], (string) $c['timestamp'], $c['signature'], $c['query'], $c['now']), $cases));`,
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

  it.each(atHand)('in %s tells genuine requests from forged ones', (name) => {
    const { language, file, program } = receivers[name];
    const [path, asked] = [join(folder, file), join(folder, 'cases.json')];
    writeFileSync(path, program(codeOf(language)));
    writeFileSync(asked, JSON.stringify(cases.map(([request]) => request)));
    const judged = JSON.parse(execFileSync(name, [path, asked], { encoding: 'utf8' }));
    expect(judged).toEqual(cases.map(([, isGenuine]) => isGenuine));
  });
});

function isAtHand(interpreter: string): boolean {
  try {
    execFileSync(interpreter, ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}
