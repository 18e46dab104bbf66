// /healthz of a paygate that runs on this machine, asked as a command asks it. Which certificate it shows is not looked
// at: it is made for another name than the one it is asked by here, and nothing secret is said.

import { Agent, request } from 'undici';
import { type ListenAddress, localAddressOf } from '../domain/public-endpoint.ts';
import type { HealthReport } from '../status/health.ts';

const waitMs = 5_000;

/** For the person who asks, where no paygate answers. */
export const noAnswer = ({ host, port }: ListenAddress): string =>
  `no paygate answers at ${host}:${port} (start it, or name its --listen)`;

/** @returns undefined where no paygate answers at any of them, neither by HTTP nor by HTTPS */
export async function askHealth(
  doors: readonly ListenAddress[],
): Promise<HealthReport | undefined> {
  for (const door of doors) {
    const report = await askDoor(door);
    if (report !== undefined) return report;
  }
  return undefined;
}

async function askDoor(door: ListenAddress): Promise<HealthReport | undefined> {
  for (const scheme of ['http', 'https']) {
    const report = await askAt(`${scheme}://${localAddressOf(door)}/healthz`);
    if (report !== undefined) return report;
  }
  return undefined;
}

async function askAt(url: string): Promise<HealthReport | undefined> {
  const dispatcher = new Agent({
    connect: { rejectUnauthorized: false, timeout: waitMs },
    headersTimeout: waitMs,
    bodyTimeout: waitMs,
  });
  try {
    const { statusCode, body } = await request(url, { dispatcher });
    const report = (await body.json()) as HealthReport;
    return statusCode === 200 && Array.isArray(report.warnings) ? report : undefined;
  } catch {
    return undefined;
  } finally {
    await dispatcher.destroy();
  }
}
