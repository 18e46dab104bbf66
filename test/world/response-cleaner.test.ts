import { describe, expect, it } from 'vitest';
import { ResponseCleaner } from '../../src/world/response-cleaner.ts';

const chunked = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n';
const packetBytes = 65_536;

/** The bytes that a server repeats, and the bytes before them. */
const floods: [string, string, string][] = [
  ['heads before the one that counts', '', 'HTTP/1.1 100 \n\n'],
  ['trailers', `${chunked}0\r\n`, 'a\n'],
  ['a header without an end', 'HTTP/1.1 200 OK\r\nA: ', 'x'],
];

describe('a server that sends without an end', () => {
  it.each(floods)('%s is cut off', (_, first, piece) => {
    const cleaner = new ResponseCleaner();
    cleaner.push(Buffer.from(first));
    const packet = Buffer.from(piece.repeat(packetBytes / piece.length));
    expect(() => cleaner.push(packet)).toThrowError(
      expect.objectContaining({ code: 'UND_ERR_HEADERS_OVERFLOW' }),
    );
  });

  it.each([
    ['the line of a chunk', chunked, `1${'\r'.repeat(packetBytes)}a\n`],
    ['a header', '', `HTTP/1.1 200 OK\nA: ${'\r'.repeat(16_000)}a\n\n`],
  ])('carriage returns in %s cost little', (_, first, packet) => {
    const began = process.cpuUsage();
    const cleaner = new ResponseCleaner();
    cleaner.push(Buffer.from(first));
    cleaner.push(Buffer.from(packet));
    // A quadratic one takes seconds for the chunk, and 90 ms for the header.
    expect(process.cpuUsage(began).user).toBeLessThan(50_000);
  });
});
