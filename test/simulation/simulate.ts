// One simulation: random steps, then recovery, then the check of the invariants. All choices come
// from the seed, so the steps replay exactly. The kernel's timing of socket data does not come from
// the seed, so the interleaving replays only nearly.

import { parsePriceSource } from '../../src/price/sources.ts';
import { closeApps, openApp } from '../support/app.ts';
import { startReceiver } from '../support/receiver.ts';
import { wrongAnswers } from './answers.ts';
import { appActions, appWeights, firstShop } from './app-actions.ts';
import { chainActions, chainWeights } from './chain-actions.ts';
import { noteClock, readSettled, wrongByClock } from './clock-invariants.ts';
import { fileActions, fileWeights } from './file-actions.ts';
import { readRecords, violations } from './invariants.ts';
import { faultsOfInvoice, noteInvoice, wrongInvoices } from './invoice-webhooks.ts';
import { giveNode, lightningRandom, setNodes } from './lightning.ts';
import { lightningActions, lightningWeights } from './lightning-actions.ts';
import { readSettlements, wrongSettlements } from './lightning-invariants.ts';
import { operatorActions, operatorWeights, reopen } from './operator-actions.ts';
import { orderActions, orderWeights } from './order-actions.ts';
import { wrongOrderRecords, wrongOrders } from './order-invariants.ts';
import { createRandom, type Random } from './random.ts';
import { faultsOfRequest } from './requests.ts';
import {
  type Action,
  baseHeight,
  endActiveFaults,
  maxBlockAgeMs,
  mineInTime,
  noteKnown,
  type Run,
  settle,
} from './run.ts';
import { serverActions, serverWeights } from './server-actions.ts';
import type { Template } from './template.ts';
import { eventsIn, faultsOfEvent, noteEvent, wrongWebhooks } from './webhooks.ts';
import { createSimulationWorld } from './world.ts';

const actions: Readonly<Record<string, Action>> = {
  ...chainActions,
  ...serverActions,
  ...appActions,
  ...fileActions,
  ...operatorActions,
  ...orderActions,
};
const weights: Readonly<Record<string, number>> = {
  ...chainWeights,
  ...serverWeights,
  ...appWeights,
  ...fileWeights,
  ...operatorWeights,
  ...orderWeights,
};

const always = new Set(['ask', 'pay', 'mine', 'order', 'payOrder']);

/** Rounds of the recovery: more than the longest ban and the longest retry delay take. */
const maxRounds = 400;
const roundMs = 65_000;
/** A round when only callbacks are pending, whose next attempt is up to a day away. */
const longRoundMs = 3_600_000;
/** Rounds without a change that end the recovery: time for tasks that repeat each minute. */
const unchangedRounds = 2;
/** paygate stays connected to this many servers, or to one more after a doubt about a server. */
const minConnected = 2;
/** Enough rounds for the ten-minute sweep of every address. */
const sweepRounds = 12;

export interface SimulationOptions {
  readonly seed: number;
  readonly steps: number;
  readonly template: Template;
  /** Whether a failure includes paygate's log. */
  readonly withLog?: boolean;
}

export class SimulationFailure extends Error {
  override readonly name = 'SimulationFailure';
}

/** @throws SimulationFailure with the command to replay it, the steps, and the violations */
export async function simulate(options: SimulationOptions): Promise<Run> {
  const run = await open(options);
  try {
    for (run.step = 1; run.step <= options.steps; run.step += 1) await step(run);
    await recover(run);
    const wrong = run.needsSweep && haveCooled(run) ? [] : violations(run);
    if (run.needsSweep && (haveCooled(run) || hasForeign(run))) await sweepDay(run);
    wrong.push(...violations(run), ...(await wrongAnswers(run)), ...(await wrongOrders(run)));
    wrong.push(...wrongWebhooks(run), ...wrongInvoices(run), ...wrongSettlements(run));
    if (wrong.length > 0) throw new Error(wrong.join('\n'));
    return run;
  } catch (error) {
    throw new SimulationFailure(reportOf(options, run, error), { cause: error });
  } finally {
    await closeApps();
    await run.closeMarket();
    for (const { played } of run.nodes.values()) await played.stop();
  }
}

async function open({ seed, template }: SimulationOptions): Promise<Run> {
  const world = createSimulationWorld(seed);
  const random = createRandom(seed);
  const received: Run['received'] = [];
  const market: Run['market'] = { euros: 50_000 };
  const source = await startReceiver({
    answer: () =>
      market.euros === undefined
        ? { status: 500 }
        : { status: 200, body: JSON.stringify({ EUR: market.euros }) },
  });
  const servers = Number(random.weighted({ 1: 4, 2: 4, 3: 2 }));
  const app = await openApp({
    world,
    servers,
    blocks: baseHeight,
    maxBlockAgeMs,
    trueNow: () => world.trueNow(),
    config: {
      walletGap: 5_000,
      price: 'own',
      priceSource: [parsePriceSource(`${source.origin}/#{CODE}`)],
    },
    file: template,
    receiver: {
      answer(request) {
        const { url, headers, method } = request;
        const { answer } = run.merchant;
        const accepted = typeof answer === 'object' && 'status' in answer && answer.status === 200;
        const id = headers['webhook-id'] ?? '';
        if (url.endsWith('/btcpay')) {
          run.requestFaults.push(...faultsOfInvoice(request));
          noteInvoice(run, request.body ?? '', accepted);
        } else if (method === 'POST') {
          run.requestFaults.push(...faultsOfEvent(run, request));
          noteEvent(run, { id, body: request.body ?? '', accepted });
        } else {
          run.requestFaults.push(...faultsOfRequest(run, url, headers));
          received.push({ id, url, accepted });
        }
        return answer;
      },
    },
  });
  const run: Run = {
    seed,
    world,
    app,
    received,
    shops: [],
    issued: [],
    lost: [],
    mayBeFinal: new Set(),
    weights: someOf(weights, random),
    activeFaults: [],
    liars: new Set(),
    steps: [],
    copies: [],
    known: new Map(),
    deepest: new Map(),
    requestFaults: [],
    orders: new Map(),
    shopOrders: new Map(),
    lostOrders: [],
    market,
    events: [],
    receivedEvents: [],
    receivedInvoices: [],
    shownVersions: new Map(),
    restoredEvents: new Set(),
    lastRestored: undefined,
    clockWrongSince: undefined,
    eventsRestoredAt: 0,
    closeMarket: () => source.close(),
    nodes: new Map(),
    shownInvoices: new Map(),
    restoredAt: 0,
    isRestored: false,
    newestBlockTime: 0,
    merchant: { answer: { status: 200 } },
    step: 0,
    needsSweep: false,
    needsBlock: false,
  };
  app.chain.onChange(() => noteKnown(run));
  const shop = firstShop(run, random);
  await giveNode(run, shop);
  run.steps.push(`${servers} server(s); ${shop.name}, ${shop.required} confirmations`);
  await settle(run);
  run.steps.push(await appActions.ask(run, random), await orderActions.order(run, random));
  return run;
}

/** Each seed omits some actions, because frequent actions hide the effects of others. */
const someOf = (all: typeof weights, random: Random): typeof weights =>
  Object.fromEntries(
    Object.entries(all).map(([name, weight]) => {
      const isOmitted = !always.has(name) && random.chance(0.4);
      return [name, isOmitted ? 0 : weight];
    }),
  );

async function step(run: Run): Promise<void> {
  const random = createRandom(run.seed, run.step);
  endActiveFaults(run, false);
  const name = random.weighted(run.weights);
  const action = actions[name];
  if (action === undefined) throw new Error(`no such action: ${name}`);
  const before = readSettled(run.app.path);
  const place = run.steps.push(`${name} …`) - 1;
  run.steps[place] = await action(run, random);
  const wrong = wrongOrderRecords(run);
  if (wrong.length > 0) throw new Error(wrong.join('\n'));
  await lightningStep(run);
  await pause(run, random);
  wrong.push(...wrongByClock(run, before));
  if (wrong.length > 0) throw new Error(wrong.join('\n'));
  noteClock(run);
  mineInTime(run);
}

/** Often something happens to a node or an invoice as well. */
async function lightningStep(run: Run): Promise<void> {
  const random = lightningRandom(run, run.step);
  if (run.nodes.size === 0 || random.chance(0.65)) return;
  const name = random.weighted(lightningWeights);
  const place = run.steps.push(`${name} …`) - 1;
  run.steps[place] = await lightningActions[name](run, random);
  const wrong = wrongOrderRecords(run);
  if (wrong.length > 0) throw new Error(wrong.join('\n'));
}

/** Sometimes all work is finished before the next step, sometimes none. */
async function pause(run: Run, random: Random): Promise<void> {
  const how = random.weighted({ nothing: 2, turn: 3, second: 3, settle: 4 });
  if (how === 'turn') await run.world.turn();
  else if (how === 'second') await run.world.advance(1_000);
  else if (how === 'settle') await settle(run);
}

/** Ends all faults; then time passes until nothing changes and no callback is pending. */
async function recover(run: Run): Promise<void> {
  const { app, world } = run;
  endActiveFaults(run, true);
  world.jumpWallClock(-world.wrongMs());
  run.merchant = { answer: { status: 200 } };
  for (const server of app.servers) {
    server.heal();
    server.resume();
    server.notifyAll();
  }
  // It also shows that the clock is right.
  app.chain.mine();
  run.steps.push('recovery');
  const wanted = run.needsSweep ? sweepRounds : unchangedRounds;
  let before = '';
  let unchanged = 0;
  for (let round = 0; round < maxRounds; round += 1) {
    await settle(run);
    await reopen(run);
    if (round === 0) await setNodes(run);
    const { electrum, wallets, callbacks } = app.running.health();
    const live = electrum.servers.filter(({ state }) => state === 'live').length;
    const isConnected = electrum.caught_up && live >= Math.min(minConnected, app.servers.length);
    const now = JSON.stringify([readRecords(app.path), readSettlements(app.path)]);
    const isUnchanged = isConnected && wallets.scanning === 0 && now === before;
    const hasPending = callbacks.owed > 0 || eventsIn(app.path, 'owed').length > 0;
    unchanged = isUnchanged && !hasPending ? unchanged + 1 : 0;
    if (unchanged >= wanted) return;
    before = now;
    await world.advance(isUnchanged && hasPending ? longRoundMs : roundMs);
  }
  throw new Error(`no recovery: ${JSON.stringify(app.running.health())}`);
}

/** The clock jumped by days: some addresses are not hot now, and only the daily sweep has them. */
const haveCooled = ({ steps }: Run): boolean =>
  steps.some((each) => /^(jumpDays|sleepDays|exhaust): /.test(each));

/** Only the daily sweep has foreign addresses, which the balance of their wallet counts. */
const hasForeign = ({ steps }: Run): boolean =>
  steps.some((each) => each.includes('payUnissued: '));

async function sweepDay(run: Run): Promise<void> {
  for (let hour = 0; hour < 25; hour += 1) {
    await run.world.advance(3_600_000);
    await settle(run);
  }
}

const reportOf = ({ seed, steps, withLog }: SimulationOptions, run: Run, error: unknown): string =>
  [
    `seed ${seed}: npm run simulate -- --seed ${seed} --steps ${steps}`,
    ...run.steps.map((each, index) => `${String(index).padStart(4)} ${each}`),
    ...(withLog ? run.world.logs.map((line) => JSON.stringify(line)) : []),
    error instanceof Error ? (error.stack ?? error.message) : String(error),
  ].join('\n');
