// Responses that break RFC 9112. What curl on this machine takes for a 200 is a 200 here, because
// merchants test their shops with curl. Exceptions are marked.

import { execFile } from 'node:child_process';
import { createServer } from 'node:net';
import { promisify } from 'node:util';
import { afterEach, describe, expect, it } from 'vitest';
import { createSender } from '../../src/delivery/sender.ts';
import type { AttemptOutcome } from '../../src/domain/delivery/retry.ts';
import { createTestWorld } from '../support/world.ts';

const closing: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  await Promise.all(closing.splice(0).map((close) => close()));
});

/** A server that sends these bytes in pieces and closes the connection. */
async function serve(bytes: string, isDripping: boolean): Promise<string> {
  const server = createServer((socket) => {
    socket.setNoDelay(true).on('error', () => {});
    socket.once('data', async () => {
      const whole = Buffer.from(bytes, 'latin1');
      const size = isDripping ? Math.ceil(whole.length / 1_000) : Math.max(1, whole.length);
      const pieces: Buffer[] = [];
      for (let at = 0; at < whole.length; at += size) pieces.push(whole.subarray(at, at + size));
      for (const piece of pieces) {
        socket.write(piece);
        if (isDripping) await new Promise((done) => setImmediate(done));
      }
      socket.end();
    });
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  closing.push(() => new Promise((closed) => server.close(closed)));
  return `http://127.0.0.1:${(server.address() as { port: number }).port}/`;
}

async function callBack(url: string) {
  const sender = createSender(createTestWorld(), { version: '0.1', listeners: () => [] });
  const order = {
    callbackUrl: url,
    query: 'status=0&addr=bc1q&value=1&txid=ab',
    eventId: 'msg_1',
    webhookSecrets: ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'],
    allowPrivateCallback: true,
    allowHttpCallback: false,
  };
  return sender.send(order, new AbortController().signal);
}

interface Run {
  readonly stdout: string;
  readonly code?: number;
}

/** The status that curl reports, if it counts the transfer as a success. */
async function curl(url: string): Promise<string> {
  const asked = ['-s', '-o', '/dev/null', '--noproxy', '*', '-w', '%{http_code}', url];
  const run: Run = await promisify(execFile)('curl', asked).catch((error: Run) => error);
  return run.code === undefined ? run.stdout : `error ${run.code}`;
}

const ok = 'HTTP/1.1 200 OK\r\n';
const length = 'Content-Length: 2\r\n';
const chunked = 'Transfer-Encoding: chunked\r\n';

/** Name, bytes, outcome; the default is `delivered` with the body `ok`. */
const answers: [string, string, AttemptOutcome?][] = [
  ['as it should be', `${ok}${length}\r\nok`],
  ['a space before the colon', `${ok}X-Powered-By : PHP\r\n${length}\r\nok`],
  ['a space before the colon of the length', `${ok}Content-Length : 2\r\n\r\nok`],
  ['a space in a name', `${ok}X Cache: HIT\r\n${length}\r\nok`],
  ['bare line feeds', 'HTTP/1.1 200 OK\nContent-Length: 2\n\nok'],
  ['some bare line feeds', 'HTTP/1.1 200 OK\r\nA: b\nContent-Length: 2\r\n\nok'],
  ['more carriage returns', 'HTTP/1.1 200 OK\r\r\nContent-Length: 2\r\r\n\r\r\nok'],
  ['a carriage return in a value', `${ok}A: b\rc\r\n${length}\r\nok`],
  ['the same length twice', `${ok}${length}${length}\r\nok`],
  ['the same length twice in a line', `${ok}Content-Length: 2, 2\r\n\r\nok`],
  ['a larger length before', `${ok}Content-Length: 3\r\n${length}\r\nok`],
  ['spaces around the length', `${ok}Content-Length:   2  \r\n\r\nok`],
  ['a sign before the length', `${ok}Content-Length: +2\r\n\r\nok`],
  ['a fraction as length', `${ok}Content-Length: 2.0\r\n\r\nok`],
  ['a length beyond numbers', `${ok}Content-Length: 99999999999999999999999\r\n\r\nok`],
  ['no reason phrase', `HTTP/1.1 200\r\n${length}\r\nok`],
  ['a space in place of the reason phrase', `HTTP/1.1 200 \r\n${length}\r\nok`],
  ['a status line of a bare line feed', `HTTP/1.1 200\n${length}\r\nok`],
  ['a status line in lower case', `http/1.1 200 OK\r\n${length}\r\nok`],
  ['two spaces before the status', `HTTP/1.1  200 OK\r\n${length}\r\nok`],
  ['a reason that is stuck to the status', `HTTP/1.1 200OK\r\n${length}\r\nok`],
  ['a reason in Latin-1', `HTTP/1.1 200 D\xe9j\xe0\r\n${length}\r\nok`],
  ['folded headers', `${ok}X-A: b\r\n c\r\n\td\r\n${length}\r\nok`],
  ['a name that is empty', `${ok}: v\r\n${length}\r\nok`],
  ['a value that is empty', `${ok}X-A:\r\n${length}\r\nok`],
  ['text of a program between headers', `${ok}<br />Warning: x in y: 3\r\n${length}\r\nok`],
  ['a byte order mark before a name', `${ok}\xef\xbb\xbfX-A: b\r\n${length}\r\nok`],
  ['8-bit bytes in a value', `${ok}X-A: caf\xe9 \xff\r\n${length}\r\nok`],
  ['8-bit bytes in a name', `${ok}X-\xe9: a\r\n${length}\r\nok`],
  ['control characters in a value', `${ok}X-A: a\x01b\x7f\r\n${length}\r\nok`],
  ['chunks', `${ok}${chunked}\r\n1\r\no\r\n1\r\nk\r\n0\r\n\r\n`],
  ['chunked twice', `${ok}${chunked}${chunked}\r\n2\r\nok\r\n0\r\n\r\n`],
  [
    'chunked twice in a line',
    `${ok}Transfer-Encoding: chunked, chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n`,
  ],
  ['chunks and a length', `${ok}${chunked}${length}\r\n2\r\nok\r\n0\r\n\r\n`],
  ['chunks with bare line feeds', `${ok}${chunked}\r\n2\nok\n0\n\n`],
  ['chunks with spaces behind the size', `${ok}${chunked}\r\n2  \r\nok\r\n0\r\n\r\n`],
  ['chunks with words behind the size', `${ok}${chunked}\r\n2 junk\r\nok\r\n0\r\n\r\n`],
  ['chunks with extensions', `${ok}${chunked}\r\n2;a=b\r\nok\r\n0\r\n\r\n`],
  ['chunks with zeros before the size', `${ok}${chunked}\r\n00000002\r\nok\r\n000\r\n\r\n`],
  ['chunks with trailers', `${ok}${chunked}\r\n2\r\nok\r\n0\r\nX-T: 1\r\n\r\n`],
  ['chunks of HTTP/1.0', `HTTP/1.0 200 OK\r\n${chunked}\r\n2\r\nok\r\n0\r\n\r\n`],
  ['another coding', `${ok}Transfer-Encoding: identity\r\n${length}\r\nok`],
  ['HTTP/1.0', 'HTTP/1.0 200 OK\r\n\r\nok'],
  ['HTTP/1.0 with a length', `HTTP/1.0 200 OK\r\n${length}\r\nok`],
  ['HTTP/2 in words', `HTTP/2 200\r\n${length}\r\nok`],
  ['no header', `${ok}\r\nok`],
  ['more than its length', `${ok}${length}\r\nok and more`],
  ['another status as a header', `${ok}Status: 500\r\n${length}\r\nok`],
  ['an offer of HTTP/2', `${ok}Upgrade: h2,h2c\r\nConnection: Upgrade\r\n${length}\r\nok`],
  ['100 Continue before', `HTTP/1.1 100 Continue\r\n\r\n${ok}${length}\r\nok`],
  ['100 Continue twice before', `${'HTTP/1.1 100\n\n'.repeat(2)}${ok}${length}\r\nok`],
  ['103 Early Hints before', `HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n${ok}${length}\r\nok`],
  ['headers of 15 KB', `${ok}A : ${'x'.repeat(15_000)}\r\n${length}\r\nok`],
  // Exception: curl fails after a status of 200, but the answer is complete.
  ['a header line without a colon', `${ok}nonsense\r\n${length}\r\nok`],
  ['a NUL in a value', `${ok}X-A: a\0b\r\n${length}\r\nok`],
  ['a folded line first', `${ok} X-A: b\r\n${length}\r\nok`],
  ['a length that is none', `${ok}Content-Length: abc\r\n\r\nok`],
  ['a length below zero', `${ok}Content-Length: -2\r\n\r\nok`],
  ['a length that is empty', `${ok}Content-Length:\r\n\r\nok`],
  ['a last chunk without its end', `${ok}${chunked}\r\n2\r\nok\r\n0\r\n`],
  ['a trailer without a colon', `${ok}${chunked}\r\n2\r\nok\r\n0\r\nnonsense\r\n\r\n`],
  // A part of the answer is missing, so the callback is retried.
  ['less than its length', `${ok}Content-Length: 10\r\n\r\nok`, 'body'],
  ['headers without an end, and no body', `${ok}${length}`, 'body'],
  ['chunks without an end', `${ok}${chunked}\r\n2\r\nok\r\n`, 'body'],
  ['chunks without a size', `${ok}${chunked}\r\nzz\r\nok`, 'body'],
  ['no chunks', `${ok}${chunked}\r\nok`, 'body'],
  ['a smaller length before', `${ok}${length}Content-Length: 3\r\n\r\nok`, 'response'],
  // No HTTP.
  ['ICY', 'ICY 200 OK\r\n\r\nok', 'response'],
  ['HTTP/0.9', 'ok', 'response'],
  ['HTTP/1.2', `HTTP/1.2 200 OK\r\n${length}\r\nok`, 'response'],
  ['four digits', `HTTP/1.1 2000 OK\r\n${length}\r\nok`, 'response'],
  ['two digits', `HTTP/1.1 20 OK\r\n${length}\r\nok`, 'response'],
  ['tabs', `HTTP/1.1\t200\tOK\r\n${length}\r\nok`, 'response'],
  ['half a status line', 'HTTP/1.1 200 OK', 'response'],
  ['nothing', '', 'response'],
  ['100 Continue alone', 'HTTP/1.1 100 Continue\r\n\r\n', 'response'],
  ['500 with a space before the colon', `HTTP/1.1 500 No\r\nA : b\r\n${length}\r\nok`, 'status'],
  ['500 after 100 Continue', `HTTP/1.1 100\r\n\r\nHTTP/1.1 500 No\r\n${length}\r\nok`, 'status'],
  ['204 with a body', `HTTP/1.1 204 No\n${length}\r\nok`, 'status'],
  ['302 with bare line feeds', 'HTTP/1.1 302\nLocation : /x\n\nok', 'redirect'],
];

describe.each(answers)('an answer with %s', (_, bytes, outcome = 'delivered') => {
  it.each([
    ['at once', false],
    ['a byte at a time', true],
  ])(`is ${outcome}, %s`, async (_way, isDripping) => {
    const attempt = await callBack(await serve(bytes, isDripping));
    expect(attempt.outcome).toBe(outcome);
    if (outcome === 'delivered') expect(attempt).toMatchObject({ httpStatus: 200, body: 'ok' });
  });

  it('is received if the curl of this machine accepts it as a 200', async () => {
    const url = await serve(bytes, false);
    const [status, attempt] = [await curl(url), await callBack(url)];
    expect([status, attempt.outcome === 'delivered']).not.toEqual(['200', false]);
  });
});

it('an answer whose headers end with the connection is a 200, as with curl', async () => {
  const url = await serve(ok, false);
  expect(await curl(url)).toBe('200');
  expect(await callBack(url)).toMatchObject({ outcome: 'delivered', body: '' });
});
