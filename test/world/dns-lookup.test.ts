import { createSocket, type Socket } from 'node:dgram';
import { mkdtempSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { createNames, type NameOptions } from '../../src/world/dns-lookup.ts';
import { createNodeWorld } from '../../src/world/node-world.ts';
import { cleanUp, tempRoot, whenOver } from '../support/files.ts';

afterEach(cleanUp);

const { after } = createNodeWorld({ logLevel: 'silent' });

/**
 * Answers 192.0.2.1 for `*.good.test`, says nothing of `*.dead.test`, nor of an IPv6 address of `*.half.good.test`,
 * and that no other name exists.
 * @param isBroken whether it fails whatever it is asked for
 */
async function nameServer(isBroken = false) {
  const asked: string[] = [];
  const socket: Socket = createSocket('udp4', (message, { port, address }) => {
    const labels: string[] = [];
    let at = 12;
    for (let size = message[at] ?? 0; size > 0; size = message[at] ?? 0) {
      labels.push(message.toString('ascii', at + 1, at + 1 + size));
      at += 1 + size;
    }
    const name = labels.join('.');
    const isOfFour = message.readUInt16BE(at + 1) === 1;
    if (isOfFour) asked.push(name);
    if (name.endsWith('dead.test') || (name.endsWith('half.good.test') && !isOfFour)) return;
    const isGood = !isBroken && name.endsWith('good.test');
    const header = Buffer.from(message.subarray(0, 12));
    header.writeUInt16BE(isGood ? 0x8180 : isBroken ? 0x8182 : 0x8183, 2);
    header.writeUInt16BE(isGood && isOfFour ? 1 : 0, 6);
    header.writeUInt32BE(0, 8);
    const answer = Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 192, 0, 2, 1]);
    const parts = [header, message.subarray(12, at + 5), ...(isGood && isOfFour ? [answer] : [])];
    socket.send(Buffer.concat(parts), port, address);
  });
  await new Promise<void>((bound) => socket.bind(0, '127.0.0.1', bound));
  whenOver(async () => void socket.close());
  return { server: `127.0.0.1:${socket.address().port}`, asked };
}

async function setUp(options: Partial<NameOptions> = {}) {
  const { server, asked } = await nameServer();
  const bySystem: string[] = [];
  const system = async (name: string) => {
    bySystem.push(name);
    return ['198.51.100.9'];
  };
  const hostsPath = join(mkdtempSync(join(tempRoot, 'paygate-names-')), 'hosts');
  writeFileSync(hostsPath, '127.0.0.1 localhost\n');
  const resolve = createNames({ after, hostsPath, servers: [server], system, ...options });
  return { resolve, asked, bySystem, hostsPath };
}

describe('a name', () => {
  it('whose servers are silent holds up no other, however many there are', async () => {
    const { resolve, bySystem } = await setUp();
    const silent = Array.from({ length: 20 }, (_, number) => resolve(`shop${number}.dead.test`));
    const over = Promise.allSettled(silent);
    const first = await Promise.race([resolve('shop.good.test'), over.then(() => 'too late')]);
    expect(first).toEqual(['192.0.2.1']);
    for (const each of await over) expect(each).toMatchObject({ reason: { code: 'ETIMEOUT' } });
    expect(bySystem).toEqual([]);
  });

  it('is waited for as long as ever after others that came quickly', async () => {
    const { resolve } = await setUp();
    for (let count = 0; count < 5; count += 1) await resolve(`shop${count}.good.test`);
    const since = performance.now();
    await expect(resolve('shop.dead.test')).rejects.toMatchObject({ code: 'ETIMEOUT' });
    expect(performance.now() - since).toBeGreaterThan(2_900);
  });

  it('of whose IPv6 addresses no server says anything is told before a callback gives up connecting', async () => {
    const [one, other] = [await nameServer(), await nameServer()];
    const { resolve, bySystem } = await setUp({ servers: [one.server, other.server] });
    const since = performance.now();
    expect(await resolve('shop.half.good.test')).toEqual(['192.0.2.1']);
    expect(performance.now() - since).toBeLessThan(2_000);
    expect(bySystem).toEqual([]);
  });

  it('that one server fails to tell is asked of the next, and of none twice', async () => {
    const [broken, other] = [await nameServer(true), await nameServer()];
    const { resolve, bySystem } = await setUp({ servers: [broken.server, other.server] });
    expect(await resolve('shop.good.test')).toEqual(['192.0.2.1']);
    expect(await resolve('shop.other.test')).toEqual(['198.51.100.9']);
    expect(broken.asked).toEqual(other.asked);
    expect(bySystem).toEqual(['shop.other.test']);
  });

  it('that all servers fail to tell keeps no thread of the system busy', async () => {
    const [one, other] = [await nameServer(true), await nameServer(true)];
    const { resolve, bySystem } = await setUp({ servers: [one.server, other.server] });
    await expect(resolve('shop.good.test')).rejects.toMatchObject({ code: 'ESERVFAIL' });
    expect(other.asked).toEqual(['shop.good.test']);
    expect(bySystem).toEqual([]);
  });

  it('is looked up once for all who ask meanwhile, and anew for who asks later', async () => {
    const { resolve, asked } = await setUp();
    const all = await Promise.all([resolve('a.good.test'), resolve('A.good.test.')]);
    expect(all).toEqual([['192.0.2.1'], ['192.0.2.1']]);
    expect(asked).toEqual(['a.good.test']);
    await resolve('a.good.test');
    expect(asked).toHaveLength(2);
  });

  it('that the servers do not know, or of one word, is for the system', async () => {
    const { resolve, asked, bySystem } = await setUp();
    expect(await resolve('printer.other.test')).toEqual(['198.51.100.9']);
    expect(await resolve('printer')).toEqual(['198.51.100.9']);
    expect(await resolve('shop.local')).toEqual(['198.51.100.9']);
    expect(bySystem).toEqual(['printer.other.test', 'printer', 'shop.local']);
    expect(asked).toEqual(['printer.other.test']);
  });

  it('of the hosts file is what that says, also once it has changed', async () => {
    const { resolve, hostsPath, asked } = await setUp();
    const text =
      '10.0.0.5  Shop.good.test shop # inside\n10.0.0.6 shop\n::1 shop\nnonsense good.test\n';
    writeFileSync(hostsPath, text);
    utimesSync(hostsPath, 1, 1);
    expect(await resolve('shop.good.test')).toEqual(['10.0.0.5']);
    expect(await resolve('shop')).toEqual(['10.0.0.5', '10.0.0.6', '::1']);
    expect(asked).toEqual([]);
    writeFileSync(hostsPath, '');
    utimesSync(hostsPath, 2, 2);
    expect(await resolve('shop.good.test')).toEqual(['192.0.2.1']);
  });
});
