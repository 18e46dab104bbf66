// The systemd service of paygate, and its environment for commands that must find the server.

import { existsSync, readFileSync } from 'node:fs';

export const serviceName = 'paygate.service';

/** A restart takes up to 10 seconds of a stop; a start may migrate a large database. */
const systemctlTimeoutMs = 300_000;

/** @returns what it prints */
export async function systemctl(...args: readonly string[]): Promise<string> {
  const { execFile } = await import('node:child_process');
  return new Promise((resolve, reject) => {
    execFile('systemctl', [...args], { timeout: systemctlTimeoutMs }, (error, stdout) => {
      if (error === null) resolve(stdout);
      else reject(error);
    });
  });
}

/**
 * The PAYGATE variables of the process that the unit runs. Our own environment wins. The files of
 * the unit are not read, because systemd reads them by rules of its own.
 * @param fallback if that process sets none, does not run, or may not be read
 */
export async function environmentOf(
  unit: string,
  fallback: NodeJS.ProcessEnv = process.env,
): Promise<NodeJS.ProcessEnv> {
  try {
    const pid = Number(await systemctl('show', '--property', 'MainPID', '--value', unit));
    const lines = readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0');
    const set = lines.flatMap((line) => {
      const [, name, value] = /^(PAYGATE_\w+)=(.*)$/s.exec(line) ?? [];
      return name === undefined ? [] : [[name, value]];
    });
    return set.length === 0 ? fallback : { ...Object.fromEntries(set), ...process.env };
  } catch {
    return fallback;
  }
}

/** That of the installed service; ours where systemd does not run, by the check of sd_booted(3). */
export const serviceEnvironment = async (): Promise<NodeJS.ProcessEnv> =>
  existsSync('/run/systemd/system') ? environmentOf(serviceName) : process.env;
