// Runs docs/api.md, docs/orders.md and docs/links.md: sends each curl to paygate, in order, and
// compares the answer with the printed one. A comment `<!-- … -->` beside an example says what
// happens before it. PAYGATE_WRITE_DOCS=1 writes the answers instead.

import { readFileSync, writeFileSync } from 'node:fs';
import { afterEach, expect, test } from 'vitest';
import { parsePriceSource } from '../../src/price/sources.ts';
import { closeApps, openApp, type TestApp, untilReady } from '../support/app.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';

/** The source of the prices on the page. */
const sources: Receiver[] = [];
afterEach(async () => {
  await closeApps();
  for (const source of sources.splice(0)) await source.close();
});

const example = /(?:<!-- (.+) -->\n)?```console\n([\s\S]*?)```/g;

/** The values of the examples, by their names in the text. */
type Names = Map<string, string>;

const steps: Readonly<Record<string, (app: TestApp, names: Names) => Promise<void>>> = {
  async 'the customer pays'(app, names) {
    names.set('TXID', app.pay(names.get('ADDRESS') ?? '', 25_000));
    await app.settle();
  },
  async 'the customer pays a part'(app, names) {
    names.set('TXID', app.pay(names.get('ADDRESS') ?? '', 15_000));
    await app.settle();
  },
  async 'the quote is over'(app) {
    await app.world.advance(900_000);
  },
  async 'two blocks follow'(app) {
    app.chain.mine(2);
    await app.settle();
  },
  async 'the window is open'(app) {
    await app.withStore(({ keys, database }) =>
      database.write((tx) => keys.allowPlugin(tx, app.world.now(), 1, app.world.now() + 9e5)),
    );
  },
};

const command =
  /^\$ curl (?:-X (\w+) )?(-H "Authorization: Bearer \$KEY" )?(?:-H "([^"]+)" )?(?:-d '([^']*)' )?"\$PAYGATE([^"]+)"$/;

async function run(app: TestApp, line: string, names: Names): Promise<string> {
  const [, method, withKey, header, body, path] = command.exec(line) ?? [];
  if (path === undefined) throw new Error(`not a command of this page: ${line}`);
  const target = path.replaceAll(/\$([A-Z]+)/g, (_all, name: string) => names.get(name) ?? name);
  const [name = '', value = ''] = header?.split(': ') ?? [];
  const { body: answer } = await app.ask(target, {
    method: method ?? (body === undefined ? 'GET' : 'POST'),
    ...(body !== undefined && { body }),
    headers: {
      ...(withKey === undefined && { Authorization: '' }),
      ...(name !== '' && { [name]: value }),
    },
  });
  if (answer.address !== undefined) names.set('ADDRESS', answer.address);
  if (answer.address !== undefined && path === '/api/v3/orders') names.set('ORDER', answer.id);
  if (answer.url !== undefined) names.set('LINK', answer.id);
  return typeof answer === 'string' ? answer.trimEnd() : JSON.stringify(answer);
}

/** Random ids of orders, links and events as the page prints them. */
function withPrintedIds(): (text: string) => string {
  const printed: Record<string, string[]> = {
    ord: ['ord_3yQ8tZr6WmB1nK5vXc2dLp'],
    lnk: ['lnk_8Fj2RkW5nXc1vB7mQd4tLs', 'lnk_5VcXm3Qp9RtYz2LkHb7NwD'],
    evt: ['evt_2Lh9KRbwpzN4LePd3XiA4v'],
  };
  const known = new Map<string, string>();
  return (text) =>
    text.replaceAll(/\b(ord|lnk|evt)_[1-9A-Za-z]{22}\b/g, (id, prefix: string) => {
      const shown = known.get(id) ?? printed[prefix]?.shift() ?? id;
      known.set(id, shown);
      return shown;
    });
}

test.each([
  ['api.md', 12],
  ['orders.md', 7],
  ['links.md', 4],
])('P-54 what docs/%s prints is what paygate answers', async (page, min) => {
  const rates = JSON.stringify({ USD: 67_866.85, CHF: 60_000.1, EUR: 50_000 });
  for (let count = 0; count < 2; count += 1) {
    sources.push(await startReceiver({ answer: () => ({ status: 200, body: rates }) }));
  }
  const priceSource = sources.map(({ origin }) => parsePriceSource(`${origin}/#{CODE}`));
  const publicUrl = 'https://pay.example.com';
  const app = await openApp({ config: { price: 'own', priceSource, publicUrl } });
  await untilReady(app);
  await app.withStore(({ catalog, database }) =>
    database.write((tx) =>
      catalog.changeStore(tx, 1, { callbackUrl: 'https://shop.example/paid?secret=tulip' }),
    ),
  );
  const file = new URL(`../../docs/${page}`, import.meta.url);
  const text = readFileSync(file, 'utf8');
  const names: Names = new Map();
  const printed = withPrintedIds();
  let written = '';
  let after = 0;
  let count = 0;
  for (const { 0: all, 1: step, 2: block = '', index } of text.matchAll(example)) {
    if (step !== undefined) await steps[step]?.(app, names);
    const [line = ''] = block.split('\n');
    const answer = printed(await run(app, line, names));
    written += text.slice(after, index) + all.replace(block, () => `${line}\n${answer}\n`);
    after = index + all.length;
    count += 1;
  }
  written += text.slice(after);
  expect(count).toBeGreaterThan(min);
  if (process.env.PAYGATE_WRITE_DOCS === '1') writeFileSync(file, written);
  else expect(written).toBe(text);
  if (page !== 'links.md') expect(names.get('TXID')).toMatch(/^[0-9a-f]{64}$/);
});
