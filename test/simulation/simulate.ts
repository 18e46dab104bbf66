// One simulation from its seed: steps of random trouble, then peace, then the invariants. All choices
// come from the seed; what the kernel does with the sockets' bytes in between does not, so the steps
// replay exactly and the interleaving nearly.

import { closeApps, openApp } from '../support/app.ts';
import { wrongAnswers } from './answers.ts';
import { appActions, appWeights, firstShop } from './app-actions.ts';
import { chainActions, chainWeights } from './chain-actions.ts';
import { fileActions, fileWeights } from './file-actions.ts';
import { readBooks, violations } from './invariants.ts';
import { operatorActions, operatorWeights, reopen } from './operator-actions.ts';
import { createRandom, type Random } from './random.ts';
import { faultsOfRequest } from './requests.ts';
import { type Action, baseHeight, endTroubles, noteKnown, type Run, settle } from './run.ts';
import { serverActions, serverWeights } from './server-actions.ts';
import type { Template } from './template.ts';
import { createSimulationWorld } from './world.ts';

const actions: Readonly<Record<string, Action>> = {
  ...chainActions,
  ...serverActions,
  ...appActions,
  ...fileActions,
  ...operatorActions,
};
const weights: Readonly<Record<string, number>> = {
  ...chainWeights,
  ...serverWeights,
  ...appWeights,
  ...fileWeights,
  ...operatorWeights,
};

const always = new Set(['ask', 'pay', 'mine']);

/** Rounds of peace that the longest ban and the longest wait of a callback fit into. */
const maxRounds = 400;
const roundMs = 65_000;
/** Where nothing is left but callbacks of a shop that failed for days: the next attempt is up to a day away. */
const longRoundMs = 3_600_000;
/** Rounds without a change after which there is peace: time for what is retried each minute. */
const quietRounds = 2;
/** To so many of the servers paygate keeps a connection; to one that was in doubt for a while, one more. */
const connected = 2;
/** As many bring every address its ten-minute comparison. */
const sweepRounds = 12;

export interface SimulationOptions {
  readonly seed: number;
  readonly steps: number;
  readonly template: Template;
  /** Whether a failure shows paygate's log as well. */
  readonly withLog?: boolean;
}

export class SimulationFailure extends Error {
  override readonly name = 'SimulationFailure';
}

/** @throws SimulationFailure that says how to replay it, what was done, and what is wrong */
export async function simulate(options: SimulationOptions): Promise<Run> {
  const run = await open(options);
  try {
    for (run.step = 1; run.step <= options.steps; run.step += 1) await step(run);
    await makePeace(run);
    const wrong = [...violations(run), ...(await wrongAnswers(run))];
    if (wrong.length > 0) throw new Error(wrong.join('\n'));
    return run;
  } catch (error) {
    throw new SimulationFailure(told(options, run, error), { cause: error });
  } finally {
    await closeApps();
  }
}

async function open({ seed, template }: SimulationOptions): Promise<Run> {
  const world = createSimulationWorld(seed);
  const random = createRandom(seed);
  const heard: Run['heard'] = [];
  const servers = Number(random.weighted({ 1: 4, 2: 4, 3: 2 }));
  const app = await openApp({
    world,
    servers,
    blocks: baseHeight,
    config: { walletGap: 5_000 },
    file: template,
    receiver: {
      answer({ url, headers }) {
        const { answer } = run.merchant;
        const accepted = typeof answer === 'object' && 'status' in answer && answer.status === 200;
        run.complaints.push(...faultsOfRequest(run, url, headers));
        heard.push({ id: headers['webhook-id'] ?? '', url, accepted });
        return answer;
      },
    },
  });
  const run: Run = {
    seed,
    world,
    app,
    heard,
    shops: [],
    given: [],
    lost: [],
    mayBeFinal: new Set(),
    weights: someOf(weights, random),
    troubles: [],
    liars: new Set(),
    steps: [],
    copies: [],
    known: new Map(),
    deepest: new Map(),
    complaints: [],
    orders: new Map(),
    restoredAt: 0,
    newestBlockTime: 0,
    merchant: { answer: { status: 200 } },
    step: 0,
    muted: false,
  };
  app.chain.onChange(() => noteKnown(run));
  const shop = firstShop(run, random);
  run.steps.push(`${servers} server(s); ${shop.name}, ${shop.required} confirmations`);
  await settle(run);
  run.steps.push(await appActions.ask(run, random));
  return run;
}

/** Each seed leaves some of the actions out: what happens often hides what others leave behind. */
const someOf = (all: typeof weights, random: Random): typeof weights =>
  Object.fromEntries(
    Object.entries(all).map(([name, weight]) => {
      const isLeftOut = !always.has(name) && random.chance(0.4);
      return [name, isLeftOut ? 0 : weight];
    }),
  );

async function step(run: Run): Promise<void> {
  const random = createRandom(run.seed, run.step);
  endTroubles(run, false);
  const name = random.weighted(run.weights);
  const action = actions[name];
  if (action === undefined) throw new Error(`no such action: ${name}`);
  const place = run.steps.push(`${name} …`) - 1;
  run.steps[place] = await action(run, random);
  await pause(run, random);
}

/** Sometimes everything is worked up before the next step, sometimes nothing is. */
async function pause(run: Run, random: Random): Promise<void> {
  const how = random.weighted({ nothing: 2, turn: 3, second: 3, settle: 4 });
  if (how === 'turn') await run.world.turn();
  else if (how === 'second') await run.world.advance(1_000);
  else if (how === 'settle') await settle(run);
}

/** Everything heals; then time passes until nothing changes and nothing is owed. */
async function makePeace(run: Run): Promise<void> {
  const { app, world } = run;
  endTroubles(run, true);
  run.merchant = { answer: { status: 200 } };
  for (const server of app.servers) {
    server.heal();
    server.resume();
    server.notifyAll();
  }
  if (run.muted) app.chain.mine();
  run.steps.push('peace');
  const wanted = run.muted ? sweepRounds : quietRounds;
  let before = '';
  let quiet = 0;
  for (let round = 0; round < maxRounds; round += 1) {
    await settle(run);
    await reopen(run);
    const { electrum, wallets, callbacks } = app.running.health();
    const live = electrum.servers.filter(({ state }) => state === 'live').length;
    const isWhole = electrum.caught_up && live >= Math.min(connected, app.servers.length);
    const now = JSON.stringify(readBooks(app.path));
    const isStill = isWhole && wallets.scanning === 0 && now === before;
    const isOwed = callbacks.owed > 0;
    quiet = isStill && !isOwed ? quiet + 1 : 0;
    if (quiet >= wanted) return;
    before = now;
    await world.advance(isStill && isOwed ? longRoundMs : roundMs);
  }
  throw new Error(`no peace: ${JSON.stringify(app.running.health())}`);
}

const told = ({ seed, steps, withLog }: SimulationOptions, run: Run, error: unknown): string =>
  [
    `seed ${seed}: npm run simulate -- --seed ${seed} --steps ${steps}`,
    ...run.steps.map((each, index) => `${String(index).padStart(4)} ${each}`),
    ...(withLog ? run.world.logs.map((line) => JSON.stringify(line)) : []),
    error instanceof Error ? (error.stack ?? error.message) : String(error),
  ].join('\n');
