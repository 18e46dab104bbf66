// Names of hosts to addresses without a thread. The system's look-up (getaddrinfo) waits in one of the two of
// Node's pool that are for it, for ten seconds and more: two names whose servers are silent would hold up all
// others. So the hosts file goes first, then the name servers of resolv.conf, which cost nothing while they
// are silent. What those servers do not know (a name of one word, of mDNS, of a search list) is for the system;
// what they did not answer in time is not asked for again. A name is looked up once at a time, for all who ask
// meanwhile. Some servers never answer whether a name has an IPv6 address: once it has another one, that is not
// waited for for long.

import { Resolver as NameServers } from 'node:dns';
import { lookup } from 'node:dns/promises';
import { readFileSync, statSync } from 'node:fs';
import { isIP } from 'node:net';
import { promisify } from 'node:util';
import type { Cancel, Resolver, World } from './world.ts';

/** Twice, the second time for twice as long: within the time that a callback has to connect. */
const resolverOptions = { timeout: 1_500, tries: 2 };
/** How much later than those of IPv4 the addresses of IPv6 may come. */
const laterMs = 500;
/** A name server that got no answer itself, or is out of order. */
const failed = 'ESERVFAIL';
const unanswered: ReadonlySet<unknown> = new Set(['ETIMEOUT', failed]);

export interface NameOptions {
  readonly after: World['after'];
  readonly hostsPath?: string;
  /** In place of those of resolv.conf. */
  readonly servers?: readonly string[];
  /** For what neither knows. */
  readonly system?: Resolver;
}

export function createNames({
  after,
  hostsPath = '/etc/hosts',
  servers,
  system = lookUpBySystem,
}: NameOptions): Resolver {
  const hosts = hostsOf(hostsPath);
  const underWay = new Map<string, Promise<readonly string[]>>();

  async function lookUp(name: string): Promise<readonly string[]> {
    const known = hosts().get(name);
    if (known !== undefined) return known;
    // RFC 6762, section 3.
    if (!name.includes('.') || name.endsWith('.local')) return system(name);
    const { found, faults } = await askServers(after, name, servers);
    if (found.length > 0) return found;
    const fault = faults.find(({ code }) => unanswered.has(code));
    if (fault !== undefined) throw fault;
    return system(name);
  }

  return (hostname) => {
    const name = hostname.toLowerCase().replace(/\.$/, '');
    const before = underWay.get(name);
    if (before !== undefined) return before;
    const found = lookUp(name).finally(() => underWay.delete(name));
    underWay.set(name, found);
    return found;
  };
}

interface Answered {
  readonly found: readonly string[];
  readonly faults: readonly NodeJS.ErrnoException[];
}

/** @param servers those of resolv.conf without it */
async function askServers(
  after: World['after'],
  name: string,
  servers: readonly string[] | undefined,
): Promise<Answered> {
  // New for each name: one that many quick answers have spoilt gives a slow one too little time.
  const asked = new NameServers(resolverOptions);
  if (servers !== undefined) asked.setServers(servers);
  const four = promisify<string, string[]>(asked.resolve4.bind(asked))(name);
  const six = promisify<string, string[]>(asked.resolve6.bind(asked))(name);
  let cancel: Cancel = () => {};
  const waitLess = (): void => {
    cancel = after(laterMs, () => asked.cancel());
  };
  four.then(waitLess, () => {});
  const answers = await Promise.allSettled([four, six]);
  cancel();
  const found = answers.flatMap((each) => (each.status === 'fulfilled' ? each.value : []));
  const faults = answers.flatMap((each) => (each.status === 'rejected' ? [each.reason] : []));
  const [, ...others] = asked.getServers();
  // It does not go on to the next one for that, as the system does.
  const goesOn =
    found.length === 0 && others.length > 0 && faults.some((each) => each.code === failed);
  return goesOn ? askServers(after, name, others) : { found, faults };
}

const lookUpBySystem: Resolver = async (name) => {
  const found = await lookup(name, { all: true, order: 'verbatim' });
  return found.map(({ address }) => address);
};

type Hosts = ReadonlyMap<string, readonly string[]>;

/** What stands in a hosts file, read anew once that is another one. */
function hostsOf(path: string): () => Hosts {
  let made: { readonly mtimeMs: number | undefined; readonly hosts: Hosts } | undefined;
  return () => {
    const mtimeMs = statSync(path, { throwIfNoEntry: false })?.mtimeMs;
    if (made?.mtimeMs !== mtimeMs || made === undefined) made = { mtimeMs, hosts: hostsIn(path) };
    return made.hosts;
  };
}

/** By name, in lower case; none where there is no such file. */
function hostsIn(path: string): Hosts {
  const found = new Map<string, string[]>();
  for (const line of textOf(path).split('\n')) {
    const [address = '', ...names] = line.replace(/#.*/, '').trim().split(/\s+/);
    if (isIP(address) === 0) continue;
    for (const name of names) {
      const key = name.toLowerCase();
      found.set(key, [...(found.get(key) ?? []), address]);
    }
  }
  return found;
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
