// The small machine: a quarter of one core, 256 MiB, and a card whose fsync takes 20 ms longer,
// every fiftieth 100 ms. The executable and its peers run there. What asks and pays them does not.

import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { bareServer, buildExecutable } from '../executable.ts';
import { startPriceSource } from '../helper.ts';
import { beginLoad, type Target } from '../load.ts';
import { ORDER } from '../orders.ts';
import { folder } from '../run.ts';
import { residentMib, type Server, serveArguments, startServer } from '../server.ts';
import { makeGroup } from './group.ts';

const MEBIBYTE = 1024 * 1024;
const CORE = 0.25;
const MEMORY_MIB = 256;
const SYNC_MS = 20;
const STALL_MS = 100;
const PAUSE_MS = 100;
/** What a person takes for an answer. */
export const MAX_WAIT_MS = 1_000;

let machine: ReturnType<typeof build> | undefined;

/** The same in each row. */
export function smallMachine() {
  machine ??= build();
  return machine;
}

async function build() {
  const group = makeGroup({ core: CORE, bytes: MEMORY_MIB * MEBIBYTE });
  process.once('exit', () => {
    try {
      group.remove();
    } catch {
      // A process in it is still ending. An empty group takes nothing.
    }
  });
  const env = slowDisk();
  const executable = await buildExecutable();
  const bare = await bareServer();
  let peakMib = 0;

  function start(program: string, argsFor: (port: number) => readonly string[]): Promise<Server> {
    const [shell, before] = group.within([program]);
    return startServer(shell, (port) => [...before, ...argsFor(port)], env);
  }
  return {
    env,
    group,
    /** The highest resident memory of a paygate in all rows until now, pages of its file included. */
    peakMib: () => peakMib,
    /** Starts a paygate with rates. */
    async serve(path: string, electrum: string): Promise<Server> {
      const args = serveArguments(path, electrum, await startPriceSource());
      const server = await start(executable, args);
      return {
        ...server,
        async end() {
          peakMib = Math.max(peakMib, residentMib(server, 'VmHWM'));
          await server.end();
        },
      };
    },
    /** Starts the peer. */
    serveBare: () => start(process.execPath, bare),
  };
}

/** Makes each fsync of a process take longer, with a preloaded library that gcc builds. */
function slowDisk() {
  const source = join(import.meta.dirname, 'slow-disk.c');
  const library = join(folder, 'slow-disk.so');
  const times = [`-DSLOW_MS=${SYNC_MS}`, `-DSTALL_MS=${STALL_MS}`];
  execFileSync('gcc', [
    ...times,
    '-shared',
    '-fPIC',
    '-O2',
    '-Wall',
    '-o',
    library,
    source,
    '-ldl',
  ]);
  return { LD_PRELOAD: library };
}

type Shop = Pick<Required<Target>, 'origin' | 'apiKey'>;

/** A shop that makes an order, and again 100 ms after each answer. @returns ends it */
export const beginOrders = ({ origin, apiKey }: Shop) =>
  beginLoad({ ...ORDER, origin, apiKey, pauseMs: PAUSE_MS });
