// Which server an address names and whether the certificate it shows is enough. Pure: what was learnt
// of a server comes in as a value, what is learnt now goes out as one; the store keeps it.
// A certificate that validates makes validation required from then on; a self-signed one is pinned by
// its SHA-256 at first use, and a changed one refused. An explicit pin stands above both.

import { faultText } from '../domain/network-error.ts';
import type { Trust } from '../domain/server-record.ts';
import type { PeerCertificate } from '../world/world.ts';
import type { ServerAddress } from './server-address.ts';

export type Judgement =
  | { readonly accept: true; readonly learn?: Trust }
  | {
      readonly accept: false;
      readonly reason: string;
      /** SHA-256 of the certificate, where a person can accept it. */
      readonly shown?: string;
    };

/** Decides on the certificate of a connection; `known` is what was learnt of this server before. */
export function judge(
  certificate: PeerCertificate | undefined,
  address: ServerAddress,
  known: Trust | undefined,
): Judgement {
  if (!address.tls || address.insecure) return { accept: true };
  if (certificate === undefined) return refuse('it shows no certificate');
  const { valid, sha256, fault = '' } = certificate;
  if (address.pin !== undefined) {
    return sha256 === address.pin ? { accept: true } : refuse(changed(sha256, address.pin));
  }
  if (valid) return known?.kind === 'valid' ? { accept: true } : learn({ kind: 'valid' });
  if (known === undefined) return learn({ kind: 'pinned', sha256 });
  if (known.kind === 'valid') {
    const why = faultText(fault, true) ?? (fault || 'it does not validate');
    const reason = `its certificate validated before and no longer does (${why})`;
    return { ...refuse(`${reason}; it has the SHA-256 ${sha256}`), shown: sha256 };
  }
  if (sha256 === known.sha256) return { accept: true };
  return { ...refuse(changed(sha256, known.sha256)), shown: sha256 };
}

/** A certificate that was refused: its SHA-256, undefined where the pin is an option of the operator. */
export interface Refused {
  readonly shown: string | undefined;
}

/** Whether a person has accepted it since, or what was known is forgotten. */
export const isAccepted = ({ shown }: Refused, known: Trust | undefined): boolean =>
  known === undefined || (known.kind === 'pinned' && known.sha256 === shown);

const learn = (trust: Trust): Judgement => ({ accept: true, learn: trust });

const refuse = (reason: string) => ({ accept: false, reason }) as const;

const changed = (shown: string, pinned: string): string =>
  `its certificate has the SHA-256 ${shown}, pinned is ${pinned}`;
