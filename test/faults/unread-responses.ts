// HTTPS clients that send requests on every connection, read no response, and meanwhile send wrong
// passwords. Each of these costs memory, and the service must survive all of them at once.

import { type RequestOptions, request } from 'node:https';
import { connect, type TLSSocket } from 'node:tls';
import { whenOver } from '../support/files.ts';

const host = '127.0.0.1';
/** The address of another client, which takes a connection (connection-eviction.ts). */
const localAddress = '127.0.0.2';
/** Pipelined requests on one connection: a third one closes it. */
export const unreadRequests = 2;

/** One client may ask for 120 files a minute (src/web/limits/visit-limit.ts). */
const clients = 10;

/** Opens connections, requests a path on each, and reads no response. */
export async function openUnread(port: number, count: number, path: string): Promise<TLSSocket[]> {
  const text = `GET ${path} HTTP/1.1\r\nHost: ${host}:${port}\r\n\r\n`.repeat(unreadRequests);
  const open: TLSSocket[] = [];
  whenOver(() => {
    for (const socket of open) socket.destroy();
  });
  for (let left = count; left > 0; left -= 1) {
    const client = { localAddress: `127.0.1.${1 + (left % clients)}` };
    const socket = connect({ port, host, ...client, rejectUnauthorized: false });
    open.push(socket);
    await new Promise<void>((resolve) => {
      socket.once('error', () => resolve()).once('close', () => resolve());
      socket.once('secureConnect', () => {
        socket.pause();
        socket.write(text, () => resolve());
      });
    });
  }
  return open;
}

const anyone = { agent: false, rejectUnauthorized: false } as const;

interface Page {
  readonly status: number;
  readonly cookies: readonly string[];
  readonly text: string;
}

const ask = (options: RequestOptions, body = ''): Promise<Page> =>
  new Promise((resolve, reject) => {
    const sent = request({ host, localAddress, ...anyone, ...options }, (answer) => {
      let text = '';
      answer.setEncoding('utf8').on('data', (part: string) => {
        text += part;
      });
      const { statusCode: status = 0, headers } = answer;
      const cookies = (headers['set-cookie'] ?? []).map((line) => line.split(';')[0] ?? '');
      answer.once('end', () => resolve({ status, cookies, text }));
      answer.once('error', reject);
    });
    sent.once('error', reject).end(body);
  });

/**
 * Opens the sign-in page.
 * @returns a function that sends a password; it returns the status, or 0 if there was no response
 */
export async function openSignIn(port: number): Promise<(password: string) => Promise<number>> {
  const path = '/dashboard/sign-in';
  const { cookies, text } = await ask({ port, path });
  const token = /name="token" value="([^"]+)"/.exec(text)?.[1] ?? '';
  const headers = {
    Origin: `https://${host}:${port}`,
    Cookie: cookies.join('; '),
    'Content-Type': 'application/x-www-form-urlencoded',
  };
  return async (password) => {
    const body = String(new URLSearchParams({ token, do: 'sign-in', password }));
    return ask({ port, path, method: 'POST', headers }, body).then(
      ({ status }) => status,
      () => 0,
    );
  };
}

/** The dashboard's stylesheet: its path, and the size of its response without headers. */
export async function stylesheetOf(port: number): Promise<{ path: string; bytes: number }> {
  const { text } = await ask({ port, path: '/dashboard/sign-in' });
  const path = /href="([^"]+\.css)"/.exec(text)?.[1] ?? '';
  return { path, bytes: Buffer.byteLength((await ask({ port, path })).text) };
}
