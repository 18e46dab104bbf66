import { up, down } from '/work/main/scripts/regtest.mjs';
import { openSession } from '/work/main/src/electrum/session.ts';
import { createNodeWorld } from '/work/main/src/world-node.ts';
const genesisHash = '0f9188f13cb7b2c71f2a335e3a4fc328bf5beb436012afca590b1a11466e2206' as any;
const world = createNodeWorld({ logLevel: 'silent' });
const net = await up({ name: 'billcheck', electrumEnv: { COST_SOFT_LIMIT: '1000', COST_HARD_LIMIT: '2000', REQUEST_SLEEP: '0' } });
try {
  const port = net.electrum.tcpPort;
  console.log('up'); setInterval(() => console.log('beat', globalThis.prog, globalThis.sess?.fillersSent, globalThis.sess?.bulkWaiting, globalThis.sess?.latencyMs, globalThis.last), 4000).unref(); const run = async (own: boolean, count: number) => {
    let closed = ''; globalThis.last='opening';
    const session = await openSession({ world, server: { host: '127.0.0.1', port, tls: false, own, label: 'x' }, genesisHash, generation: 1, known: undefined, onLearn: async () => {}, options: { ownMaxInFlight: 10 }, handlers: { onHeader() {}, onStatus() {}, onClose: (_: any, r: string) => { closed = r; } }, signal: new AbortController().signal });
    globalThis.prog = 0; globalThis.sess = session; globalThis.last='open'; let ok = 0, bad = 0, last = '';
    const t = performance.now();
    const marks: string[] = [];
    await Promise.all(Array.from({ length: count }, (_, i) => session.subscribe(i.toString(16).padStart(64, '0') as any, { bulk: true }).then(() => { globalThis.prog = ok; if (++ok % 500 === 0) marks.push(`${ok}@${Math.round(performance.now() - t)}ms`); }, (e: Error) => { bad++; last = e.message; })));
    const F = session.fillersSent;
    const predicted = 5 + ok * (0.3 + (150 + 50) / 5000) + F * (8 / 50 + 1500 / 5000);
    console.log(JSON.stringify({ own, software: session.software, version: session.version, ok, bad, last, closed, fillers: F, predicted: Math.round(predicted), latency: session.latencyMs, seconds: Math.round((performance.now() - t) / 1000), marks: marks.slice(0, 8) }));
    session.close('done');
  };
  await run(true, 8000);
  
} finally { 
  await down({ name: 'billcheck' });
}
