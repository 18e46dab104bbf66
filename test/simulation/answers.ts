// Checks paygate's responses once no fault is active: payments, addresses, wallets, health, and the
// integrity of its file. It compares them with the naive recount.

import { chunks } from '../../src/lib/chunk.ts';
import { checkFile } from '../../src/store/backup/integrity-check.ts';
import type { Reply } from '../support/app.ts';
import { expectedOf, type Row, readRecords, statusesOf } from './invariants.ts';
import { type Balance, balances, type Expected, paymentKey } from './recount.ts';
import { finish, isClockBehind, type Run } from './run.ts';
import { scriptsOf, walletKey } from './wallet-keys.ts';

/** Describes every response that is not as expected. */
export async function wrongAnswers(run: Run): Promise<string[]> {
  const expected = expectedOf(run);
  const { payments } = readRecords(run.app.path);
  return [
    ...(await wrongTransactions(run, payments, expected)),
    ...(await wrongBalances(run)),
    ...(await wrongHealth(run, payments, expected)),
    ...wrongFile(run),
  ];
}

const ask = (run: Run, path: string): Promise<Reply> => finish(run, run.app.ask(path));

async function wrongTransactions(
  run: Run,
  payments: readonly Row[],
  expected: ReadonlyMap<string, Expected>,
): Promise<string[]> {
  const wrong: string[] = [];
  for (const { address, txid } of payments) {
    const { status, body } = await ask(run, `/api/merchant/tx?addr=${address}&txid=${txid}`);
    const want = expected.get(paymentKey(address, txid));
    const isRight = want === undefined ? isGone(run, body) : isAnswered(run, body, want);
    if (status === 200 && isRight) continue;
    wrong.push(
      `merchant/tx: ${JSON.stringify(body)}\n  should be ${JSON.stringify(want ?? 'gone')}`,
    );
  }
  return wrong;
}

function isAnswered(run: Run, body: Reply['body'], want: Expected): boolean {
  return (
    statusesOf(run, want).includes(body.status) &&
    body.value === want.valueSat &&
    body.confirmations === want.depth &&
    body.dropped === undefined &&
    body.replaced_by === undefined
  );
}

/** A replacement, if the response names one, spends an input of the payment's transaction. */
function isGone({ known }: Run, body: Reply['body']): boolean {
  const inputsOf = (txid: string): string[] =>
    (known.get(txid)?.inputs ?? []).map((input) => `${input.txid}:${input.vout}`);
  const inputs = new Set(inputsOf(body.txid));
  const rival: string | undefined = body.replaced_by;
  return (
    body.status === 0 &&
    body.confirmations === 0 &&
    body.dropped === true &&
    (rival === undefined ||
      (rival !== body.txid && inputsOf(rival).some((each) => inputs.has(each))))
  );
}

const addressesAtOnce = 50;
/** More indexes than paygate scans beyond the last one. */
const lookAhead = 25;

async function wrongBalances(run: Run): Promise<string[]> {
  const onScripts = balances(run.app.chain);
  const sumOf = (scripts: readonly Uint8Array[]): Balance =>
    scripts
      .flatMap((script) => onScripts.get(Buffer.from(script).toString('hex')) ?? [])
      .reduce(
        (sum, each) => ({
          confirmed: sum.confirmed + each.confirmed,
          unconfirmed: sum.unconfirmed + each.unconfirmed,
        }),
        { confirmed: 0, unconfirmed: 0 },
      );
  const seen = run.issued.filter(({ isUnwatched }) => !isUnwatched);
  const wallets = new Set(run.shops.map(({ wallet }) => wallet));
  const targets = [
    ...seen.map(({ address, script }) => ({ addr: address, ...sumOf([script]) })),
    ...[...wallets].map((wallet) => {
      const last = Math.max(
        -1,
        ...run.issued.filter(({ shop }) => shop.wallet === wallet).map(({ index }) => index),
      );
      return { addr: walletKey(wallet).account, ...sumOf(scriptsOf(wallet, last + lookAhead)) };
    }),
  ];
  const wrong: string[] = [];
  for (const some of chunks(targets, addressesAtOnce)) {
    const { body } = await ask(run, `/api/balance?addr=${some.map(({ addr }) => addr).join(',')}`);
    for (const [place, want] of some.entries()) {
      const answered = JSON.stringify(body.response?.[place] ?? body);
      if (answered !== JSON.stringify(want)) {
        wrong.push(`balance: ${answered}\n  should be ${JSON.stringify(want)}`);
      }
    }
  }
  return wrong;
}

/** Only warnings about past events that a person must know of may remain after the recovery. */
async function wrongHealth(
  run: Run,
  payments: readonly Row[],
  expected: ReadonlyMap<string, Expected>,
): Promise<string[]> {
  const all = [...expected.values()];
  const has = (action: string): boolean => run.steps.some((each) => each.includes(`${action}: `));
  const explained: readonly [RegExp, boolean][] = [
    [/is a copy|was restored|older/, run.isRestored || run.copies.length > 0],
    [/reversed in the last 7 days/, payments.some(({ state }) => state === 'dropped')],
    // A shop that did not answer may have received a 1 before the 0 superseded it.
    [
      /fell out of the chain after/,
      all.some(({ depth, txid }) => depth === 0 && run.deepest.has(txid)),
    ],
    [/no shop receives a callback for them/, all.some(({ isAmbiguous }) => isAmbiguous)],
    // The warning about a liar's invented payment to an address that was not issued remains.
    [/addresses that paygate had not issued yet/, has('payUnissued') || run.liars.size > 0],
    [/lied and is banned until/, run.liars.size > 0],
    [/the clock of this machine is wrong/, isClockBehind(run)],
    // A removed shop still requests addresses.
    [/with a Callback URL that no store has/, has('archive')],
    [/there is no price in/, run.market.euros === undefined],
    // It remains until the next response of that shop, and no callback may be pending.
    [/its shop answered 200, but/, run.steps.some((each) => each.includes('"status":200,'))],
  ];
  const { body } = await ask(run, '/healthz');
  const warnings: string[] = body.warnings;
  const unexplained = warnings.filter(
    (warning) => !explained.some(([pattern, isTrue]) => isTrue && pattern.test(warning)),
  );
  return [
    ...unexplained.map((warning) => `/healthz warns for no reason: ${warning}`),
    ...(warnings.length === 0 && body.status !== 'ok' ? [`/healthz is ${body.status}`] : []),
  ];
}

function wrongFile({ app }: Run): string[] {
  const { ok, faults } = checkFile(app.path);
  return ok ? [] : [`the file is damaged: ${faults.join('; ')}`];
}
