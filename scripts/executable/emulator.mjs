// How a program for the other processor is started here: qemu, which Debian has as qemu-user-static.

const machines = { x64: 'x86_64', arm64: 'aarch64' };
const pageSizes = ['4096', '16384'];

/**
 * What a program is started by: nothing, or a machine for each size of pages.
 * @param {'x64' | 'arm64'} arch
 * @returns {string[][]}
 */
export function emulatorsFor(arch) {
  if (arch === process.arch) return [[]];
  const machine = machines[arch];
  const libraries = ['-L', `/usr/${machine}-linux-gnu`];
  return pageSizes.map((size) => [`qemu-${machine}-static`, '-p', size, ...libraries]);
}
