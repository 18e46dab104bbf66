// Requests /healthz of a paygate on this machine. The certificate is not verified: it is made for a
// host name, the request goes to a local address, and nothing secret is sent. It loads nothing that
// one request does not need.

import type { IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import {
  hostAndPort,
  type ListenAddress,
  localTargetOf,
} from '../../domain/delivery/public-endpoint.ts';
import type { HealthReport } from '../../status/health.ts';

const timeoutMs = 5_000;
/** A report with a finding for each of some thousand shops. */
const maxReportLetters = 4 * 1024 * 1024;

export const noAnswerText = ({ host, port }: ListenAddress): string =>
  `no paygate answers at ${host}:${port}; start it, or name its address with --listen`;

/** @returns undefined if no paygate answers at any of these addresses, by HTTP or HTTPS */
export async function fetchHealth(
  addresses: readonly ListenAddress[],
): Promise<HealthReport | undefined> {
  for (const address of addresses) {
    const target = localTargetOf(address);
    const report = (await isOpen(target)) ? await fetchFrom(hostAndPort(target)) : undefined;
    if (report !== undefined) return report;
  }
  return undefined;
}

/** Whether anything listens there. A closed port needs no HTTP client. */
const isOpen = (target: ListenAddress): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect({ ...target, timeout: timeoutMs });
    const end = (found: boolean) => {
      socket.destroy();
      resolve(found);
    };
    socket
      .once('connect', () => end(true))
      .once('timeout', () => end(false))
      .once('error', () => end(false));
  });

async function fetchFrom(address: string): Promise<HealthReport | undefined> {
  for (const scheme of ['http', 'https'] as const) {
    const report = reportIn(await ask(scheme, address));
    if (report !== undefined) return report;
  }
  return undefined;
}

function reportIn(text: string): HealthReport | undefined {
  try {
    const report = JSON.parse(text) as HealthReport | null;
    return Array.isArray(report?.warnings) ? report : undefined;
  } catch {
    return undefined;
  }
}

/** @returns the body of a 200, '' for any other outcome */
async function ask(scheme: 'http' | 'https', address: string): Promise<string> {
  const { get } = scheme === 'http' ? await import('node:http') : await import('node:https');
  const options = {
    agent: false,
    rejectUnauthorized: false,
    signal: AbortSignal.timeout(timeoutMs),
  } as const;
  return new Promise((resolve) => {
    const request = get(`${scheme}://${address}/healthz`, options, (response) => {
      bodyOf(response).then(resolve, () => resolve(''));
    });
    request.on('error', () => resolve(''));
  });
}

async function bodyOf(response: IncomingMessage): Promise<string> {
  if (response.statusCode !== 200) return response.destroy() && '';
  let text = '';
  for await (const chunk of response.setEncoding('utf8')) {
    text += chunk;
    if (text.length > maxReportLetters) return '';
  }
  return text;
}
