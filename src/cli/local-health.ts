// Requests /healthz of a paygate on this machine. The certificate is not verified: it is made for a
// host name, the request goes to a local address, and nothing secret is sent.

import { Agent, request } from 'undici';
import { type ListenAddress, localAddressOf } from '../domain/public-endpoint.ts';
import type { HealthReport } from '../status/health.ts';

const timeoutMs = 5_000;

export const noAnswerText = ({ host, port }: ListenAddress): string =>
  `no paygate answers at ${host}:${port}; start it, or name its address with --listen`;

/** @returns undefined if no paygate answers at any of these addresses, by HTTP or HTTPS */
export async function fetchHealth(
  addresses: readonly ListenAddress[],
): Promise<HealthReport | undefined> {
  for (const address of addresses) {
    const report = await fetchFrom(address);
    if (report !== undefined) return report;
  }
  return undefined;
}

async function fetchFrom(address: ListenAddress): Promise<HealthReport | undefined> {
  for (const scheme of ['http', 'https']) {
    const report = await fetchAt(`${scheme}://${localAddressOf(address)}/healthz`);
    if (report !== undefined) return report;
  }
  return undefined;
}

async function fetchAt(url: string): Promise<HealthReport | undefined> {
  const dispatcher = new Agent({
    connect: { rejectUnauthorized: false, timeout: timeoutMs },
    headersTimeout: timeoutMs,
    bodyTimeout: timeoutMs,
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
