// Zip archives for tests, built byte by byte so that they can lie in every field (APPNOTE.TXT 4.3).

import { crc32, deflateRawSync } from 'node:zlib';

export interface Member {
  readonly name: string | Buffer;
  readonly content?: string | Buffer;
  readonly stored?: boolean;
  /** Unix mode with the kind of file; a plain file or folder by the name without one. */
  readonly mode?: number;
  /** 3 is Unix, 0 MS-DOS. */
  readonly madeBy?: number;
  readonly flags?: number;
  /** Lies. */
  readonly method?: number;
  readonly packed?: Buffer;
  readonly size?: number;
  readonly crc?: number;
}

/** 2024-05-06 07:08:10 in the format of MS-DOS. */
const time = (7 << 11) | (8 << 5) | (10 / 2);
const date = ((2024 - 1980) << 9) | (5 << 5) | 6;

const u16 = (...values: number[]) => Buffer.from(Uint16Array.from(values).buffer);
const u32 = (...values: number[]) => Buffer.from(Uint32Array.from(values).buffer);

export function zipOf(members: readonly Member[]): Buffer {
  const locals: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const member of members) {
    const name = Buffer.from(member.name);
    const content = Buffer.from(member.content ?? '');
    const isStored = member.stored ?? content.length === 0;
    const packed = member.packed ?? (isStored ? content : deflateRawSync(content));
    const method = member.method ?? (isStored && member.packed === undefined ? 0 : 8);
    const size = member.size ?? content.length;
    const sizes = u32(member.crc ?? crc32(content), method === 0 ? size : packed.length, size);
    const common = [u16(20, member.flags ?? 0, method, time, date), sizes, u16(name.length, 0)];
    const local = [u32(0x04034b50), ...common, name, packed];
    const kind = name.at(-1) === 0x2f ? 0o040755 : 0o100644;
    const attributes = member.madeBy === 0 ? 0x10 : (member.mode ?? kind) * 65_536;
    directory.push(
      ...[u32(0x02014b50), u16(((member.madeBy ?? 3) << 8) | 20), ...common],
      ...[u16(0, 0, 0), u32(attributes, offset), name],
    );
    locals.push(...local);
    offset += local.reduce((sum, part) => sum + part.length, 0);
  }
  const central = Buffer.concat(directory);
  const end = [
    u32(0x06054b50),
    u16(0, 0, members.length, members.length),
    u32(central.length, offset),
  ];
  return Buffer.concat([...locals, central, ...end, u16(0)]);
}
