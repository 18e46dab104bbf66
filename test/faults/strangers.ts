// `strangers.ts PORT plain|tls`: connections of strangers from 256 addresses. Standard input has a
// command in each row; `done` answers it. `pipeline N` opens N connections, and then sends 64 KiB
// of requests on each at once. `stop N` opens N connections. Each reads 1.5 MB, asks for more, and
// stops reading.

import { writeSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { connect as connectTls } from 'node:tls';

const [port = '', kind] = process.argv.slice(2);
const path = '/docs';
const request = `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`;
const pipelined = request.repeat(Math.ceil((64 * 1024) / request.length));
const readBytes = 1_500_000;
let connections = 0;

async function open(): Promise<Socket> {
  connections += 1;
  const localAddress = `127.0.1.${connections & 255}`;
  const at = { port: Number(port), host: '127.0.0.1', localAddress };
  const socket = kind === 'tls' ? connectTls({ ...at, rejectUnauthorized: false }) : connect(at);
  socket.on('error', () => {});
  await new Promise((resolve) => {
    socket.once('close', resolve).once(kind === 'tls' ? 'secureConnect' : 'connect', resolve);
  });
  return socket;
}

/** Opens some at a time, as a listener takes them. */
async function openAll(count: number): Promise<Socket[]> {
  const sockets: Socket[] = [];
  while (sockets.length < count) {
    const some = Math.min(16, count - sockets.length);
    sockets.push(...(await Promise.all(Array.from({ length: some }, open))));
  }
  return sockets;
}

async function pipeline(count: number): Promise<void> {
  const sockets = await openAll(count);
  for (const socket of sockets) socket.pause();
  await Promise.all(sockets.map((socket) => sent(socket, pipelined)));
}

/** Resolves also when the connection is closed. */
const sent = (socket: Socket, text: string): Promise<unknown> =>
  new Promise((resolve) => {
    socket.once('close', resolve);
    socket.write(text, resolve);
  });

async function stopReading(socket: Socket): Promise<void> {
  let read = 0;
  const ask = (): void => void socket.write(request);
  const isDone = new Promise<void>((resolve) => {
    socket.once('close', () => resolve());
    let rest = '';
    socket.on('data', (data: Buffer) => {
      read += data.length;
      if (read >= readBytes) resolve();
      rest = (rest + data).slice(-20);
      if (/<\/html>\s*$/.test(rest)) {
        rest = '';
        ask();
      }
    });
  });
  ask();
  await isDone;
  socket.pause();
  await sent(socket, request);
}

async function obey(): Promise<void> {
  for await (const line of createInterface(process.stdin)) {
    const [what, count] = line.split(' ');
    if (what === 'pipeline') await pipeline(Number(count));
    else await Promise.all((await openAll(Number(count))).map(stopReading));
    writeSync(1, 'done\n');
  }
}
void obey();
