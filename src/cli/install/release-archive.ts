// The archive of a release: a gzipped ustar file with one folder, which contains the executable
// `paygate`. It reads only the form that scripts/release/archive.mjs writes, and unpacks only that
// one file. https://pubs.opengroup.org/onlinepubs/9799919799/utilities/pax.html, "ustar"

import { createReadStream, createWriteStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { PaygateError, reasonOf, throwInvalid } from '../../lib/errors.ts';

const blockBytes = 512;
/** Bytes of the largest archive when it is unpacked; an executable has about 120 MB. */
const maxUnpackedBytes = 512 * 1024 * 1024;
const maxEntries = 1000;

export const isGzip = (first: Uint8Array): boolean => first[0] === 0x1f && first[1] === 0x8b;

/**
 * Writes the executable of the archive to `target`, which must not exist.
 * @throws PaygateError invalid for any other archive; `target` may be incomplete then
 */
export async function unpackExecutable(archive: string, target: string): Promise<void> {
  try {
    await pipeline(
      createReadStream(archive),
      createGunzip(),
      executableIn,
      createWriteStream(target, { mode: 0o700, flags: 'wx' }),
    );
  } catch (error) {
    if (error instanceof PaygateError || !isDamage(error)) throw error;
    throw new PaygateError('invalid', `the archive is damaged (${reasonOf(error)})`);
  }
}

/** An error of zlib, not of the disk. */
const isDamage = (error: unknown): boolean =>
  /^(Z_|ERR_ZLIB)/.test(String((error as NodeJS.ErrnoException).code));

interface Entry {
  readonly name: string;
  readonly isFolder: boolean;
  readonly size: number;
}

/** Yields the bytes of the executable, and reads the archive to its end. */
async function* executableIn(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const bytes = new ByteReader(source);
  const names = new Set<string>();
  let executables = 0;
  for (;;) {
    const header = await bytes.take(blockBytes);
    if (header.every((byte) => byte === 0)) break;
    const { name, isFolder, size } = parseHeader(header);
    if (names.has(name)) throwInvalid(`the archive has two entries ${name}`);
    if (names.size === maxEntries) throwInvalid('the archive has too many entries');
    names.add(name);
    const isExecutable = !isFolder && /^[^/]+\/paygate$/.test(name);
    if (isExecutable) executables += 1;
    for await (const piece of bytes.pieces(size)) if (isExecutable) yield piece;
    await bytes.take(-size & (blockBytes - 1));
  }
  await bytes.endOfZeros();
  if (executables !== 1) throwInvalid('the archive does not have one executable paygate');
}

const damaged = (): never => throwInvalid('the archive is damaged; download it again');

class ByteReader {
  readonly #chunks: AsyncIterator<Buffer>;
  #buffer: Buffer = Buffer.alloc(0);
  #total = 0;

  constructor(source: AsyncIterable<Buffer>) {
    this.#chunks = source[Symbol.asyncIterator]();
  }

  /** @throws PaygateError invalid if the stream ends before */
  async *pieces(length: number): AsyncGenerator<Buffer> {
    for (let left = length; left > 0; ) {
      if (this.#buffer.length === 0 && !(await this.#read())) damaged();
      const piece = this.#buffer.subarray(0, left);
      this.#buffer = this.#buffer.subarray(piece.length);
      left -= piece.length;
      yield piece;
    }
  }

  async take(length: number): Promise<Buffer> {
    const pieces: Buffer[] = [];
    for await (const piece of this.pieces(length)) pieces.push(piece);
    return Buffer.concat(pieces);
  }

  /** Reads the rest, so that zlib compares its checksum. @throws PaygateError unless it is zeros */
  async endOfZeros(): Promise<void> {
    do {
      if (this.#buffer.some((byte) => byte !== 0)) damaged();
    } while (await this.#read());
  }

  async #read(): Promise<boolean> {
    const { value, done } = await this.#chunks.next();
    if (done) return false;
    this.#total += value.length;
    if (this.#total > maxUnpackedBytes) throwInvalid('the archive is too large');
    this.#buffer = value;
    return true;
  }
}

/** Relative, with parts that do not begin with a dot. */
const plainName = /^(?:[\w+-][\w.+-]*\/)+(?:[\w+-][\w.+-]*)?$/;

function parseHeader(header: Buffer): Entry {
  const text = (at: number, length: number) =>
    header.toString('latin1', at, at + length).split('\0')[0] ?? '';
  const octal = (at: number, length: number) => {
    const [, digits] = /^([0-7]+)[ \0]*$/.exec(header.toString('latin1', at, at + length)) ?? [];
    return digits === undefined ? damaged() : Number.parseInt(digits, 8);
  };
  const unsummed = Buffer.concat([
    header.subarray(0, 148),
    Buffer.alloc(8, ' '),
    header.subarray(156),
  ]);
  const sum = unsummed.reduce((total, byte) => total + byte, 0);
  if (sum !== octal(148, 8) || header.toString('latin1', 257, 265) !== 'ustar\x0000') damaged();
  const name = text(0, 100);
  const type = text(156, 1);
  if (text(345, 155) !== '' || !plainName.test(name))
    throwInvalid('the archive has a name that no release has');
  const isFolder = type === '5';
  if (!isFolder && type !== '0') throwInvalid(`the archive has a link or device, ${name}`);
  const size = octal(124, 12);
  if (isFolder !== name.endsWith('/') || (isFolder && size > 0)) damaged();
  return { name, isFolder, size };
}
