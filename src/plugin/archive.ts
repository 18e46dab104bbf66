// Reads a zip archive from memory into its entries, and writes entries back in their order, with
// their modes and times. Archives may be hostile: sizes are limited before anything is unpacked,
// and only plain files and folders are accepted that stay in their own folder. It touches no file.
// Specification: PKWARE APPNOTE.TXT, 4.3, 4.4.

import { crc32 } from 'node:zlib';
import { fromBufferPromise, type Entry as ZipEntry } from 'yauzl';
import { ZipFile as ZipWriter } from 'yazl';
import { PaygateError, reasonOf } from '../lib/errors.ts';

export interface ArchiveEntry {
  /** The name of a folder ends with a slash. */
  readonly name: string;
  /** Unix mode: the kind of file and its permissions. */
  readonly mode: number;
  readonly modifiedAt: Date;
  readonly compressed: boolean;
  readonly content: Buffer;
}

/** Several times the size of the largest of these plugins. */
export const limits = {
  archiveBytes: 64 * 1024 * 1024,
  entries: 10_000,
  unpackedBytes: 256 * 1024 * 1024,
  /** Unpacked over packed bytes of the whole archive; for text it is seldom above 20. */
  ratio: 100,
  /** Smaller archives may have any ratio. */
  ratioFromBytes: 4 * 1024 * 1024,
};
const maxNameLength = 1024;
const kinds = { mask: 0o170000, file: 0o100000, folder: 0o040000, link: 0o120000 };
/** For archives that were not made on Unix. */
const plainModes = { file: 0o100644, folder: 0o040755 };
const unix = 3;
const methods = { stored: 0, deflated: 8 };

/** @throws PaygateError invalid */
export function refuseArchive(why: string): never {
  throw new PaygateError('invalid', `this archive is refused: ${why}`);
}

const unseen = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;
/** A name for messages: shortened, without characters that a terminal acts on. */
const shown = (name: string): string => JSON.stringify(name.slice(0, 100).replace(unseen, '?'));

/** @throws PaygateError invalid */
export async function readArchive(archive: Buffer): Promise<ArchiveEntry[]> {
  if (archive.length > limits.archiveBytes) refuseArchive('it is larger than 64 MiB');
  try {
    const zip = await fromBufferPromise(archive, { lazyEntries: true, decodeStrings: false });
    if (zip.entryCount > limits.entries) refuseArchive(`it has ${zip.entryCount} entries`);
    const listed: { readonly zipEntry: ZipEntry; readonly name: string; readonly mode: number }[] =
      [];
    let [packed, unpacked] = [0, 0];
    for await (const zipEntry of zip.eachEntry()) {
      packed += zipEntry.compressedSize;
      unpacked += zipEntry.uncompressedSize;
      if (unpacked > limits.unpackedBytes) refuseArchive('unpacked it is larger than 256 MiB');
      const name = parseName(zipEntry.fileNameRaw);
      listed.push({ zipEntry, name, mode: modeOf(zipEntry, name) });
    }
    if (unpacked > limits.ratioFromBytes && unpacked > packed * limits.ratio) {
      refuseArchive(`it unpacks to more than ${limits.ratio} times its size`);
    }
    refuseClashes(listed.map(({ name }) => name));
    const entries: ArchiveEntry[] = [];
    for (const { zipEntry, name, mode } of listed) {
      // The library fails if the content is longer than the directory states.
      const stream = name.endsWith('/') ? [] : await zip.openReadStreamPromise(zipEntry);
      const chunks: Buffer[] = [];
      for await (const chunk of stream) chunks.push(chunk);
      const content = Buffer.concat(chunks);
      if (crc32(content) !== zipEntry.crc32) refuseArchive(`${shown(name)} is damaged`);
      const modifiedAt = zipEntry.getLastModDate({ forceDosFormat: true });
      const compressed = zipEntry.compressionMethod !== methods.stored;
      entries.push({ name, mode, modifiedAt, compressed, content });
    }
    return entries;
  } catch (error) {
    if (error instanceof PaygateError) throw error;
    return refuseArchive(`it is damaged or no zip archive (${reasonOf(error)})`);
  }
}

/** Parses a name; refuses one that is not UTF-8, or leads out of the folder. */
function parseName(raw: Uint8Array): string {
  let name: string;
  try {
    name = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(raw);
  } catch {
    return refuseArchive('an entry has a name that is not UTF-8');
  }
  if (raw.length > maxNameLength) refuseArchive(`an entry has a name of ${raw.length} bytes`);
  if (/\\/.test(name) || name.search(unseen) !== -1) {
    refuseArchive(`${shown(name)} has a backslash or characters that do not show`);
  }
  if (/^(\/|[a-z]:)/i.test(name)) refuseArchive(`${shown(name)} is an absolute path`);
  const parts = name.replace(/\/$/, '').split('/');
  if (parts.some((part) => part === '' || part === '.' || part === '..')) {
    refuseArchive(`${shown(name)} leads out of its folder`);
  }
  return name;
}

/** Refuses two names that stand for one place. */
function refuseClashes(names: readonly string[]): void {
  const places = new Map<string, 'file' | 'folder'>();
  for (const name of names) {
    const place = name.replace(/\/$/, '').normalize('NFC');
    if (places.has(place)) refuseArchive(`it has two entries named ${shown(place)}`);
    places.set(place, name.endsWith('/') ? 'folder' : 'file');
  }
  for (const place of places.keys()) {
    for (let at = place.indexOf('/'); at !== -1; at = place.indexOf('/', at + 1)) {
      const parent = place.slice(0, at);
      if (places.get(parent) === 'file') {
        refuseArchive(`${shown(parent)} is a file and a folder in it`);
      }
    }
  }
}

/** The Unix mode of an entry. Refuses what is neither a file nor a folder, or cannot be read. */
function modeOf(entry: ZipEntry, name: string): number {
  if (entry.isEncrypted()) refuseArchive(`${shown(name)} is encrypted`);
  const { compressionMethod: method } = entry;
  if (method !== methods.stored && method !== methods.deflated) {
    refuseArchive(`${shown(name)} is packed by a method that is not supported (${method})`);
  }
  const expected = name.endsWith('/') ? 'folder' : 'file';
  if (expected === 'folder' && entry.uncompressedSize > 0) {
    refuseArchive(`${shown(name)} is a folder with content`);
  }
  const mode = entry.versionMadeBy >>> 8 === unix ? entry.externalFileAttributes >>> 16 : 0;
  const kind = mode & kinds.mask;
  if (kind === kinds.link) refuseArchive(`${shown(name)} is a link`);
  if (kind === 0) return plainModes[expected];
  if (kind !== kinds[expected]) refuseArchive(`${shown(name)} is neither a file nor a folder`);
  return mode;
}

/** The same entries always make the same bytes. */
export async function writeArchive(entries: readonly ArchiveEntry[]): Promise<Buffer> {
  const zip = new ZipWriter();
  for (const { name, mode, modifiedAt, compressed, content } of entries) {
    // Without the extra field for the time: it is in UTC, so it depends on the time zone.
    const options = { mode, mtime: modifiedAt, forceDosTimestamp: true };
    if (name.endsWith('/')) zip.addEmptyDirectory(name, options);
    else zip.addBuffer(content, name, { ...options, compress: compressed });
  }
  zip.end();
  const chunks: Buffer[] = [];
  for await (const chunk of zip.outputStream) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}
