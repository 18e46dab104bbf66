import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Client, chainOf, type Served, serve, until } from '../support.ts';

let served: Served;
let client: Client;

beforeEach(async () => {
  served = await serve(chainOf(20), { padOutput: true });
  client = served.bare();
});

afterEach(() => served.close());

const pings = () => served.server.count('server.ping');

/** Takes the connection beyond the first 1,024 bytes, which leave at once. */
async function warmUp(): Promise<void> {
  await client.result('server.version', 'test', '1.6');
  await client.result('blockchain.block.headers', 0, 10);
}

describe('padded output', () => {
  it('fills lines up to 1,024 bytes with spaces that JSON allows', async () => {
    client.send('server.version', 'test', '1.6');
    const line = (await client.line()) ?? '';
    expect(line).toHaveLength(1_023);
    expect(line).toMatch(/[^ ] +\}$/);
    expect(JSON.parse(line).result).toEqual(['paygate sandbox 1', '1.6']);
  });

  it('pads larger packets to a power of two', async () => {
    client.send('server.version', 'test', '1.6');
    await client.line();
    client.send('blockchain.block.headers', 0, 20);
    expect(await client.line()).toHaveLength(4_095);
  });

  it('delays small responses for a second after the last packet', async () => {
    await warmUp();
    const { received } = client;
    const id = client.send('server.ping');
    await until(() => pings() === 1);
    served.timer.advance(999);
    // Another connection goes back and forth meanwhile.
    await served.client();
    expect(client.received).toBe(received);
    served.timer.advance(1);
    const line = (await client.line()) ?? '';
    expect(line).toHaveLength(1_023);
    expect(JSON.parse(line).id).toBe(id);
    // After a second without output, nothing is delayed.
    served.timer.advance(1_000);
    await client.result('server.ping');
  });

  it('sends at once when enough is queued, and delays what does not fit', async () => {
    await warmUp();
    const ids = Array.from({ length: 40 }, () => client.send('server.ping'));
    await until(() => pings() === 40);
    const first = await client.message();
    expect(first.id).toBe(ids[0]);
    const gathered = [first.id];
    while (gathered.length < 20) gathered.push((await client.message()).id);
    served.timer.advance(1_000);
    while (gathered.length < 40) gathered.push((await client.message()).id);
    expect(gathered).toEqual(ids);
  });

  it('stops its timer with the connection', async () => {
    await warmUp();
    client.send('server.ping');
    await until(() => pings() === 1);
    await client.close();
    await until(() => served.server.connections === 0);
    served.timer.advance(10_000);
  });
});
