// The copy of docs/growing.md: packaging/postgres/copy-orders.mjs against a real PostgreSQL. The
// copy equals the file after each payment, after a reorganisation and after a restore.

import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, globSync, mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, expect, it } from 'vitest';
import { freePort } from '../../scripts/ports.mjs';
import { closeApps, loseByRestore, untilReady } from '../support/app.ts';
import { cleanUp, whenOver } from '../support/files.ts';
import { openPriced, type PricedApp } from '../support/priced.ts';
import { diskFolder } from './serving.ts';
import { cannotRun } from './thorough.ts';

afterEach(closeApps);
afterEach(cleanUp);

/** The folder of Debian's newest PostgreSQL; undefined without one. */
const bin = globSync('/usr/lib/postgresql/*/bin/initdb').map(dirname).sort().at(-1);

/** PostgreSQL does not run as root: it is that of `nobody` then. */
const nobody = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};

/** Starts an empty server. Returns the environment by which psql finds it. */
async function startPostgres(folder: string): Promise<NodeJS.ProcessEnv> {
  const parent = diskFolder();
  const data = join(parent, 'data');
  mkdirSync(data);
  if (nobody.uid !== undefined)
    for (const each of [parent, data]) chownSync(each, nobody.uid, nobody.gid);
  const options = { ...nobody, cwd: parent, stdio: 'ignore' } as const;
  const start = ['-D', data, '-U', 'reports', '-A', 'trust', '-N', '--encoding=UTF8'];
  execFileSync(join(folder, 'initdb'), start, options);
  const port = String(await freePort());
  const args = ['-D', data, '-p', port, '-h', '127.0.0.1', '-k', '', '-F'];
  const server = spawn(join(folder, 'postgres'), args, options);
  const ended = once(server, 'close');
  whenOver(async () => {
    server.kill('SIGQUIT');
    await ended;
  });
  const { PATH } = process.env;
  const where = { PGHOST: '127.0.0.1', PGPORT: port, PGUSER: 'reports', PGDATABASE: 'postgres' };
  return { ...where, PATH: `${folder}:${PATH}` };
}

async function isUp(env: NodeJS.ProcessEnv): Promise<boolean> {
  const [code] = await once(spawn('psql', ['-Xc', 'SELECT 1'], { env, stdio: 'ignore' }), 'close');
  return code === 0;
}

function copierOf(app: PricedApp, env: NodeJS.ProcessEnv) {
  const run = async (file: string, args: readonly string[]): Promise<string> => {
    const own = { PAYGATE: `http://127.0.0.1:${app.port}`, KEY: app.apiKey };
    const child = spawn(file, args, { env: { ...env, ...own }, stdio: ['ignore', 'pipe', 'pipe'] });
    const ended = once(child, 'close');
    const [out, errors] = await Promise.all([text(child.stdout), text(child.stderr)]);
    expect([errors, (await ended)[0]]).toEqual(['', 0]);
    return out;
  };
  const program = 'packaging/postgres/copy-orders.mjs';
  return {
    copy: (...args: string[]) => run(process.execPath, [program, ...args]),
    async rows(): Promise<unknown[]> {
      const sql = "SELECT coalesce(jsonb_agg(body ORDER BY id), '[]') FROM paygate_orders";
      return JSON.parse(await run('psql', ['-XqtAc', sql]));
    },
  };
}

/** What an order's events have of it: confirmations and quotes change without one. */
const stated = (orders: readonly { readonly version: number; readonly id: string }[]) =>
  orders
    .filter(({ version }) => version > 1)
    .map((order) => {
      const { payments, quote, uri, missing_sat, confirmed_sat, ...facts } = order as Record<
        string,
        unknown
      >;
      const confirmed = facts.status === 'paid' ? confirmed_sat : undefined;
      const paid = (payments as { txid: string; value_sat: number }[]).map(
        ({ txid, value_sat }) => ({
          txid,
          value_sat,
        }),
      );
      return { ...facts, confirmed, paid };
    })
    .sort((one, other) => (String(Object(one).id) < String(Object(other).id) ? -1 : 1));

const reference = `it's 5" \\ $$ 'x'::jsonb; DROP TABLE paygate_orders; -- \u00fc\u{1f600}`;

it.skipIf(cannotRun(bin === undefined ? 'there is no PostgreSQL: .ci/run installs it' : undefined))(
  'the copy in PostgreSQL equals the file after a reorganisation and after a restore',
  async () => {
    const env = await startPostgres(bin ?? '');
    const up = async (): Promise<void> => ((await isUp(env)) ? undefined : up());
    await up();
    const app = await openPriced();
    const copier = copierOf(app, env);
    const inFile = async () => stated((await app.get('/orders?limit=100')).body.data);
    const expectEqual = async (count: number) => {
      const rows = await copier.rows();
      expect(stated(rows as never)).toEqual(await inFile());
      expect(rows).toHaveLength(count);
    };
    await copier.copy();
    await expectEqual(0);

    const first = await app.order({ amount: '12.50', currency: 'EUR', reference });
    const second = await app.order({ amount_sat: 20_000 });
    await app.order({ amount_sat: 30_000, expires_in: 0 });
    app.pay(first.address, 25_000);
    app.pay(second.address, 9_000);
    await app.settle();
    await copier.copy();
    await expectEqual(2);
    app.chain.mine(2);
    await app.settle();
    await copier.copy();
    await copier.copy();
    await expectEqual(2);
    expect((await inFile())[0]).toMatchObject({ version: expect.any(Number) });

    app.chain.reorganise(2, { blocks: 3, transactions: 'drop' });
    await app.settle();
    await app.outlastAbsence();
    await copier.copy();
    await expectEqual(2);
    expect((await inFile()).map((each) => Object(each).status)).not.toContain('paid');

    // What happened after the backup is gone, and the last event of the copy with it.
    await loseByRestore(app, async () => {
      const lost = await app.order({ amount_sat: 40_000 });
      await app.settle();
      app.pay(lost.address, 40_000);
      await app.settle();
      await copier.copy();
      await expectEqual(3);
    });
    await app.start();
    await untilReady(app);
    await copier.copy();
    // A restore raises the version of each order.
    await expectEqual(3);
    const third = await app.order({ amount_sat: 50_000 });
    app.pay(third.address, 50_000);
    await app.settle();
    await copier.copy();
    await expectEqual(4);
    await copier.copy('--whole');
    await expectEqual(4);
  },
);
