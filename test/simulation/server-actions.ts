// Faults of the Electrum servers: they close connections, omit, lie, lag, hang, send nonsense.

import type { Fault, Garbage, ServerLie } from '../../src/sandbox/electrum/server-faults.ts';
import type { SimulatedServer } from '../../src/sandbox/electrum/simulated-server.ts';
import type { Random } from './random.ts';
import type { Action, Run } from './run.ts';

/** The 10 MB line is left to the tests of the framing. */
const garbages: readonly Garbage[] = [
  'nonsense',
  'invalid-utf8',
  'nul',
  'deep-json',
  'unknown-id',
  'wrong-types',
];

const lies: readonly ServerLie[] = [
  'merkle',
  'transaction',
  'status',
  'genesis',
  'invented-transaction',
  'wrong-height',
  'header-work',
  'header-bits',
  'header-link',
];

const disconnect: Action = (run, random) => {
  const server = random.pick(run.app.servers);
  server.disconnectAll();
  return `disconnect: server ${place(run, server)}`;
};

const fault: Action = (run, random) => {
  const server = random.pick(run.app.servers);
  const wrong = someFault(run, random);
  const end = server.inject(wrong);
  const lasts = random.int(1, 6);
  run.activeFaults.push({
    untilStep: run.step + lasts,
    end: () => {
      end();
      server.notifyAll();
    },
  });
  if (wrong.kind === 'lie') run.liars.add(place(run, server));
  if (wrong.kind === 'stopNotifications') run.needsSweep = true;
  if (random.chance(0.6)) server.notifyAll();
  return `fault: server ${place(run, server)} for ${lasts} steps, ${shown(wrong)}`;
};

const pause: Action = (run, random) => {
  const server = random.pick(run.app.servers);
  const lasts = random.int(1, 3);
  server.pause();
  run.activeFaults.push({ untilStep: run.step + lasts, end: () => server.resume() });
  return `pause: server ${place(run, server)} for ${lasts} steps`;
};

const endFaults: Action = (run) => {
  for (const { end } of run.activeFaults.splice(0)) end();
  return 'endFaults: all';
};

/** Another server takes its place, which lacks the newest blocks for some steps. */
const swap: Action = (run, random) => {
  const server = random.pick(run.app.servers);
  const blocks = random.int(1, 6);
  const lasts = random.int(1, 6);
  const end = server.inject({ kind: 'lag', blocks });
  server.disconnectAll();
  run.activeFaults.push({
    untilStep: run.step + lasts,
    end: () => {
      end();
      server.notifyAll();
    },
  });
  return `swap: server ${place(run, server)} for one ${blocks} behind, for ${lasts} steps`;
};

const place = ({ app }: Run, server: SimulatedServer): number => app.servers.indexOf(server);

const shown = (fault: Fault): string =>
  JSON.stringify(fault, (name, value) => (name === 'txids' ? value.length : value));

function someFault(run: Run, random: Random): Fault {
  const kind = random.weighted({
    omit: 5,
    lie: 7,
    lag: 4,
    hang: 2,
    delay: 2,
    error: 2,
    closeMidLine: 2,
    garbage: 3,
    refuse: 2,
    stopNotifications: 2,
  });
  switch (kind) {
    case 'omit':
      return someOmission(run, random);
    case 'lie':
      return { kind, about: random.pick(lies) };
    case 'lag':
      return { kind, blocks: random.int(1, 4) };
    case 'delay':
      return { kind, ms: random.pick([200, 3_000, 9_000, 30_000]) };
    case 'error':
      return { kind, code: 1, message: 'busy', when: () => true, ...fewTimes(random) };
    case 'closeMidLine':
      return { kind, ...fewTimes(random) };
    case 'garbage':
      return { kind, as: random.pick(garbages), ...fewTimes(random) };
    case 'hang':
    case 'refuse':
    case 'stopNotifications':
      return { kind };
  }
}

const fewTimes = (random: Random): { times?: number } =>
  random.chance(0.5) ? { times: random.int(1, 3) } : {};

function someOmission({ app: { chain } }: Run, random: Random): Fault {
  const blocks = [0, 1, 2].map((back) => chain.block(chain.tipHeight - back)?.txids ?? []);
  const txids = [...chain.mempool().map(({ txid }) => txid), ...blocks.flat()];
  return {
    kind: 'omit',
    txids: txids.filter(() => random.chance(0.6)),
    deny: random.chance(0.5),
  };
}

export const serverActions = { disconnect, fault, pause, endFaults, swap };

export const serverWeights: Readonly<Record<keyof typeof serverActions, number>> = {
  disconnect: 4,
  fault: 12,
  pause: 1,
  endFaults: 4,
  swap: 3,
};
