// The base of the container image. Its name alone may lead to another image tomorrow.

/** @param {string} dockerfile its text */
export function baseOf(dockerfile) {
  const [, base = ''] = /^FROM (\S+)$/m.exec(dockerfile) ?? [];
  return base;
}

/**
 * @param {string} base
 * @throws {Error} for an image of a registry without a digest
 */
export function assertPinned(base) {
  if (/@sha256:[0-9a-f]{64}$/.test(base) || base.startsWith('localhost/')) return;
  throw new Error(
    `${base} has no digest: write it into packaging/Dockerfile, or name it with --base ` +
      'IMAGE@sha256:HEX (docs/releases.md); --snapshot takes any base',
  );
}
