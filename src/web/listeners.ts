// Where paygate listens, as the options say (domain/public-endpoint.ts): one door with or without HTTPS, whose
// certificate may change under way, and beside it port 80 where certificates are fetched.

import { dirname, join } from 'node:path';
import {
  type EndpointOptions,
  type ListenAddress,
  listenAddressesOf,
  publicEndpointOf,
} from '../domain/public-endpoint.ts';
import { createAcme } from '../tls/acme.ts';
import type { CertificateSource } from '../tls/certificate.ts';
import { certificateFiles } from '../tls/certificate-files.ts';
import type { World } from '../world/world.ts';
import { type Fetch, type HttpListener, listen, tryListening } from './http-server.ts';
import { createPort80 } from './port-80.ts';

export interface ListenerOptions extends EndpointOptions {
  /** The database file: what is fetched is kept beside it. */
  readonly db: string;
}

export interface Listeners {
  /** @param beside of further doors @throws PaygateError unavailable where one of them could not be opened now */
  tryPorts(beside: readonly ListenAddress[]): Promise<void>;
  /** @returns the port of the main door. @throws PaygateError unavailable */
  open(fetch: Fetch): Promise<number>;
  /** One more door, without HTTPS. @returns its port */
  openExtra(fetch: Fetch, at: ListenAddress): Promise<number>;
  /** What callbacks must not be sent to. */
  addresses(): ListenAddress[];
  /** Words for /healthz. */
  warnings(): string[];
  /** Once a minute. */
  pingSockets(): void;
  /** Takes no more connections, finishes the requests under way. */
  close(): Promise<void>;
}

/** @throws PaygateError invalid, before anything is opened or written */
export function createListeners(options: ListenerOptions, world: World): Listeners {
  const front = publicEndpointOf(options);
  const acme =
    front.kind === 'acme' ? createAcme(front, join(dirname(options.db), 'acme'), world) : undefined;
  const source: CertificateSource | undefined =
    front.kind === 'files' ? certificateFiles(front, world) : acme;
  const doors: { readonly host: string; readonly listening: HttpListener }[] = [];

  async function openDoor(fetch: Fetch, at: ListenAddress, tls: boolean): Promise<HttpListener> {
    const listening = await listen(fetch, { ...at, tls }, world.after);
    doors.push({ host: at.host, listening });
    return listening;
  }

  return {
    async tryPorts(beside) {
      const ends: (() => Promise<unknown>)[] = [];
      try {
        // All of them at once: two may be told the same port.
        for (const at of [...listenAddressesOf(options), ...beside])
          ends.push(await tryListening(at));
      } finally {
        for (const end of ends) await end();
      }
    },
    async open(fetch) {
      const main = await openDoor(fetch, options.listen, source !== undefined);
      if (acme !== undefined && front.kind === 'acme') {
        await openDoor(createPort80(front.domain, acme.challenge, fetch), front.listenHttp, false);
      }
      const first = source?.current();
      if (first !== undefined) main.setCertificate(first);
      source?.start((certificate) => main.setCertificate(certificate));
      return main.port;
    },
    openExtra: async (fetch, at) => (await openDoor(fetch, at, false)).port,
    addresses: () => doors.map(({ host, listening }) => ({ host, port: listening.port })),
    warnings: () => source?.warnings() ?? [],
    pingSockets() {
      for (const { listening } of doors) listening.pingSockets();
    },
    async close() {
      source?.stop();
      await Promise.all(doors.map(({ listening }) => listening.close()));
    },
  };
}
