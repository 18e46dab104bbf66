// Whether the certificate of a server is enough. Pure: what earlier connections have learnt comes
// in as a value, and what is learnt now goes out as one. A certificate that validates makes
// validation required from then on. A self-signed one, as most public servers have, is pinned by
// its SHA-256 at first use, and a changed one is refused. A pin in the address stands above both.

import { networkErrorText } from '../domain/delivery/network-error.ts';
import type { TlsIdentity } from '../domain/payment/server-record.ts';
import type { PeerCertificate } from '../world/world.ts';
import type { ServerAddress } from './server-address.ts';

export type Judgement =
  | { readonly accept: true; readonly learn?: TlsIdentity }
  | {
      readonly accept: false;
      readonly reason: string;
      /** SHA-256 of the certificate, when a person can accept it. */
      readonly shown?: string;
    };

/** @param known what earlier connections to this server have learnt */
export function judge(
  certificate: PeerCertificate | undefined,
  address: Pick<ServerAddress, 'tls' | 'insecure' | 'pin'>,
  known: TlsIdentity | undefined,
): Judgement {
  if (!address.tls || address.insecure) return { accept: true };
  if (certificate === undefined) return refuse('it shows no certificate');
  const { isValid: valid, sha256, error: fault = '' } = certificate;
  if (address.pin !== undefined) {
    return sha256 === address.pin ? { accept: true } : refuse(changed(sha256, address.pin));
  }
  if (valid) return known?.kind === 'valid' ? { accept: true } : learn({ kind: 'valid' });
  if (known === undefined) return learn({ kind: 'pinned', sha256 });
  if (known.kind === 'valid') {
    const why = networkErrorText(fault, true) ?? (fault || 'it does not validate');
    const reason = `its certificate validated before and no longer does (${why})`;
    return { ...refuse(`${reason}; it has the SHA-256 ${sha256}`), shown: sha256 };
  }
  if (sha256 === known.sha256) return { accept: true };
  return { ...refuse(changed(sha256, known.sha256)), shown: sha256 };
}

export interface RefusedCertificate {
  /** Its SHA-256; undefined when the pin stands in the address, which only its owner changes. */
  readonly shown: string | undefined;
}

/** Whether a person has accepted the certificate since, or has removed what was known. */
export const isAccepted = (
  { shown }: RefusedCertificate,
  known: TlsIdentity | undefined,
): boolean => known === undefined || (known.kind === 'pinned' && known.sha256 === shown);

const learn = (trust: TlsIdentity): Judgement => ({ accept: true, learn: trust });

const refuse = (reason: string) => ({ accept: false, reason }) as const;

const changed = (shown: string, pinned: string): string =>
  `its certificate has the SHA-256 ${shown}, pinned is ${pinned}`;
