// The listeners that the options ask for (public-endpoint.ts). The main one has HTTPS or
// not, and its certificate may change at runtime. Port 80 is open when certificates are fetched by
// ACME.

import { dirname, join } from 'node:path';
import {
  type EndpointOptions,
  flagOf,
  type ListenAddress,
  listenAddressesOf,
  publicEndpointOf,
} from '../domain/delivery/public-endpoint.ts';
import { createAcme } from '../tls/acme.ts';
import type { CertificateSource } from '../tls/certificate.ts';
import { certificateFiles } from '../tls/certificate-files.ts';
import type { World } from '../world/world.ts';
import {
  type Binding,
  type Fetch,
  type HttpListener,
  listen,
  tryListening,
} from './http-server.ts';
import { createRefusalLog } from './limits/refused-requests.ts';
import { createPort80 } from './port-80.ts';

export interface ListenerOptions extends EndpointOptions {
  /** The database file; fetched certificates are stored beside it. */
  readonly db: string;
}

export interface Listeners {
  /**
   * Listens on each port for a moment.
   * @param extra addresses of `openExtra`
   * @throws PaygateError unavailable when one of them can not be used now
   */
  tryPorts(extra: readonly ListenAddress[]): Promise<void>;
  /** Returns the port of the main listener. @throws PaygateError unavailable */
  open(fetch: Fetch): Promise<number>;
  /** Opens the listener of metrics, without HTTPS. Returns its port. */
  openExtra(fetch: Fetch, at: ListenAddress): Promise<number>;
  /** Addresses that callbacks must not be sent to. */
  addresses(): ListenAddress[];
  /** Texts for /healthz. */
  warnings(): string[];
  /** To call once a minute. */
  pingSockets(): void;
  /** Accepts no more connections and finishes in-flight requests. */
  close(): Promise<void>;
}

const mainFlag = flagOf('listen');
const port80Flag = flagOf('listenHttp');
const metricsFlag = flagOf('metricsListen');

/** @throws PaygateError invalid, before anything is opened or written */
export function createListeners(options: ListenerOptions, world: World): Listeners {
  const front = publicEndpointOf(options);
  const acme =
    front.kind === 'acme' ? createAcme(front, join(dirname(options.db), 'acme'), world) : undefined;
  const source: CertificateSource | undefined =
    front.kind === 'files' ? certificateFiles(front, world) : acme;
  const closings = createRefusalLog(world.log, world.monotonic, 'a connection was closed');
  const opened: { readonly host: string; readonly listening: HttpListener }[] = [];

  async function openListener(fetch: Fetch, binding: Binding): Promise<HttpListener> {
    const onAbuse = (client: string, reason: string) => closings.note({ client, reason });
    const listening = await listen(fetch, { ...binding, onAbuse }, world.after);
    opened.push({ host: binding.host, listening });
    return listening;
  }

  return {
    async tryPorts(extra) {
      const ends: (() => Promise<unknown>)[] = [];
      try {
        // All at the same time, because two options may name the same port.
        const [main = options.listen, port80] = listenAddressesOf(options);
        ends.push(await tryListening({ ...main, flag: mainFlag }));
        if (port80 !== undefined) {
          ends.push(await tryListening({ ...port80, flag: port80Flag }));
        }
        for (const at of extra) ends.push(await tryListening({ ...at, flag: metricsFlag }));
      } finally {
        for (const end of ends) await end();
      }
    },
    async open(fetch) {
      const main = await openListener(fetch, {
        ...options.listen,
        flag: mainFlag,
        tls: source !== undefined,
      });
      if (acme !== undefined && front.kind === 'acme') {
        const answer = createPort80(front.domain, acme.challenge, fetch);
        await openListener(answer, { ...front.listenHttp, flag: port80Flag });
      }
      const first = source?.current();
      if (first !== undefined) main.setCertificate(first);
      source?.start((certificate) => main.setCertificate(certificate));
      return main.port;
    },
    openExtra: async (fetch, at) => (await openListener(fetch, { ...at, flag: metricsFlag })).port,
    addresses: () => opened.map(({ host, listening }) => ({ host, port: listening.port })),
    warnings: () => source?.warnings() ?? [],
    pingSockets() {
      for (const { listening } of opened) listening.pingSockets();
    },
    async close() {
      source?.stop();
      await Promise.all(opened.map(({ listening }) => listening.close()));
    },
  };
}
