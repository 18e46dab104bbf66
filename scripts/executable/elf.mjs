// Whether a kernel with pages of any size that Linux uses can map a program: each loadable segment must
// lie in the file as it will in memory, modulo the page. A Raspberry Pi 5 has pages of 16 KiB, some arm64
// servers of 64 KiB. https://refspecs.linuxfoundation.org/elf/gabi4+/ch5.pheader.html

const loadable = 1;
/** By the machine that an ELF file names: x64, arm64. */
const largestPage = new Map([
  [62, 4096n],
  [183, 65_536n],
]);

/**
 * @param {Buffer} program a 64-bit little-endian ELF file
 * @throws {Error} which names the segment
 */
export function assertLoadable(program) {
  const page = largestPage.get(program.readUInt16LE(18));
  if (program.toString('latin1', 0, 4) !== '\x7fELF' || page === undefined) {
    throw new Error('not a program for x64 or arm64');
  }
  const start = Number(program.readBigUInt64LE(32));
  const size = program.readUInt16LE(54);
  const count = program.readUInt16LE(56);
  for (let index = 0; index < count; index += 1) {
    const at = start + index * size;
    if (program.readUInt32LE(at) !== loadable) continue;
    const offset = program.readBigUInt64LE(at + 8);
    const address = program.readBigUInt64LE(at + 16);
    if (offset % page !== address % page) {
      throw new Error(`segment ${index} cannot be mapped with pages of ${page} bytes`);
    }
  }
}
