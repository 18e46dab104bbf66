// Reads a zip archive from memory into its entries, and writes entries back in their order, with
// their modes and times. Archives may be hostile: sizes are limited before anything is unpacked,
// and only plain files and folders are accepted. It touches no file. Specification: PKWARE
// APPNOTE.TXT, 4.3, 4.4.

import { crc32 } from 'node:zlib';
import { fromBufferPromise, type Entry as ZipEntry, type ZipFile } from 'yauzl';
import { ZipFile as ZipWriter } from 'yazl';
import { PaygateError, reasonOf } from '../lib/errors.ts';
import { parseEntryName, refuseArchive, refuseClashes } from './entry-names.ts';

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

const kinds = { mask: 0o170000, file: 0o100000, folder: 0o040000, link: 0o120000 };
/** For archives that were not made on Unix. */
const plainModes = { file: 0o100644, folder: 0o040755 };
const unix = 3;
const methods = { stored: 0, deflated: 8 };

/** @throws PaygateError invalid */
export async function readArchive(archive: Buffer): Promise<ArchiveEntry[]> {
  if (archive.length > limits.archiveBytes) refuseArchive('it is larger than 64 MiB');
  try {
    const zip = await fromBufferPromise(archive, { lazyEntries: true, decodeStrings: false });
    return await readEntries(zip, await listEntries(zip));
  } catch (error) {
    if (error instanceof PaygateError) throw error;
    return refuseArchive(`it is damaged or no zip archive (${reasonOf(error)})`);
  }
}

interface ListedEntry {
  readonly zipEntry: ZipEntry;
  readonly name: string;
  readonly mode: number;
}

/** Reads the central directory, and checks it against the limits before anything is unpacked. */
async function listEntries(zip: ZipFile): Promise<ListedEntry[]> {
  if (zip.entryCount > limits.entries) refuseArchive(`it has ${zip.entryCount} entries`);
  const listed: ListedEntry[] = [];
  let packed = 0;
  let unpacked = 0;
  for await (const zipEntry of zip.eachEntry()) {
    packed += zipEntry.compressedSize;
    unpacked += zipEntry.uncompressedSize;
    if (unpacked > limits.unpackedBytes) refuseArchive('unpacked it is larger than 256 MiB');
    const name = parseEntryName(zipEntry.fileNameRaw);
    listed.push({ zipEntry, name, mode: modeOf(zipEntry, name) });
  }
  if (unpacked > limits.ratioFromBytes && unpacked > packed * limits.ratio) {
    refuseArchive(`it unpacks to more than ${limits.ratio} times its size`);
  }
  refuseClashes(listed.map(({ name }) => name));
  return listed;
}

/** The Unix mode of an entry. Refuses what is neither a file nor a folder, or cannot be read. */
function modeOf(entry: ZipEntry, name: string): number {
  const shown = JSON.stringify(name.slice(0, 100));
  if (entry.isEncrypted()) refuseArchive(`${shown} is encrypted`);
  const { compressionMethod: method } = entry;
  if (method !== methods.stored && method !== methods.deflated) {
    refuseArchive(`${shown} is packed by a method that is not supported (${method})`);
  }
  const expected = name.endsWith('/') ? 'folder' : 'file';
  if (expected === 'folder' && entry.uncompressedSize > 0) {
    refuseArchive(`${shown} is a folder with content`);
  }
  const mode = entry.versionMadeBy >>> 8 === unix ? entry.externalFileAttributes >>> 16 : 0;
  const kind = mode & kinds.mask;
  if (kind === kinds.link) refuseArchive(`${shown} is a link`);
  if (kind === 0) return plainModes[expected];
  if (kind !== kinds[expected]) refuseArchive(`${shown} is neither a file nor a folder`);
  return mode;
}

async function readEntries(zip: ZipFile, listed: readonly ListedEntry[]): Promise<ArchiveEntry[]> {
  const entries: ArchiveEntry[] = [];
  for (const { zipEntry, name, mode } of listed) {
    const content = name.endsWith('/') ? Buffer.alloc(0) : await unpack(zip, zipEntry);
    if (crc32(content) !== zipEntry.crc32) refuseArchive(`${JSON.stringify(name)} is damaged`);
    entries.push({
      name,
      mode,
      modifiedAt: zipEntry.getLastModDate({ forceDosFormat: true }),
      compressed: zipEntry.compressionMethod !== methods.stored,
      content,
    });
  }
  return entries;
}

/** The library fails if the content is longer than the directory states. */
async function unpack(zip: ZipFile, entry: ZipEntry): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of await zip.openReadStreamPromise(entry)) chunks.push(chunk);
  return Buffer.concat(chunks);
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
