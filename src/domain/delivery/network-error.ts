// The meaning of error codes of DNS, sockets and TLS, in sentences for alarms and logs. Callbacks
// (delivery/failure-reason.ts) and Electrum servers share this table.

import { proxyDownCode, proxyRefusedCode } from './retry.ts';

/** Codes of getaddrinfo, and ENODATA from delivery/target-guard.ts. */
export const dnsErrors: Readonly<Record<string, string>> = {
  ENOTFOUND: 'the name does not exist',
  ENODATA: 'the name has no address',
  EAI_AGAIN: 'the name server does not answer',
  EAI_FAIL: 'the name server refuses to answer',
};

export const connectErrors: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'it refuses connections',
  ECONNRESET: 'it closed the connection at once',
  EPIPE: 'it closed the connection at once',
  ECONNABORTED: 'it closed the connection at once',
  ETIMEDOUT: 'it does not answer',
  EHOSTUNREACH: 'there is no way to this host',
  EHOSTDOWN: 'there is no way to this host',
  ENETUNREACH: 'there is no way to its network',
  ENETDOWN: 'the network of this machine is down',
  EADDRNOTAVAIL: 'this machine has no address or no free port for it',
  EACCES: 'a firewall of this machine forbids it',
  EPERM: 'a firewall of this machine forbids it',
  EMFILE: 'this process has too many files open',
  ENFILE: 'this machine has too many files open',
  [proxyDownCode]: 'the SOCKS5 proxy of --proxy does not answer; see that Tor runs',
  [proxyRefusedCode]:
    'the SOCKS5 proxy of --proxy found no way to it; see that the onion service runs, and that its name is right',
};

/** A client cannot distinguish a missing intermediate certificate from a private authority. */
const unknownAuthority =
  'it does not send its intermediate certificate, or its authority is not trusted here';
const noTls = 'it does not speak TLS on this port';
const otherTls = 'it does not speak TLS as it is used today';

const certificateErrors: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: 'its certificate has expired',
  CERT_NOT_YET_VALID: 'its certificate is not valid yet',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is self-signed',
  SELF_SIGNED_CERT_IN_CHAIN: 'its certificate leads to an authority that is not trusted here',
  UNABLE_TO_GET_ISSUER_CERT: unknownAuthority,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: unknownAuthority,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: unknownAuthority,
  CERT_UNTRUSTED: unknownAuthority,
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another name',
  HOSTNAME_MISMATCH: 'its certificate is for another name',
  CERT_SIGNATURE_FAILURE: 'its certificate is not signed by the authority that it names',
  CERT_REVOKED: 'its certificate was revoked',
  CERT_CHAIN_TOO_LONG: 'its chain of certificates is too long',
  INVALID_CA: 'its certificate is signed by one that may not sign others',
  INVALID_PURPOSE: 'its certificate is not made for servers',
  CA_MD_TOO_WEAK: 'its certificate is signed in a way that is no longer safe',
  EE_KEY_TOO_SMALL: 'the key of its certificate is too short to be safe',
};

export const tlsErrors: Readonly<Record<string, string>> = {
  ...certificateErrors,
  ERR_SSL_WRONG_VERSION_NUMBER: noTls,
  ERR_SSL_PACKET_LENGTH_TOO_LONG: noTls,
  ERR_SSL_HTTP_REQUEST: noTls,
  ERR_SSL_UNSUPPORTED_PROTOCOL: otherTls,
  ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION: otherTls,
  ERR_SSL_NO_PROTOCOLS_AVAILABLE: otherTls,
  ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE: otherTls,
  'ERR_SSL_SSL/TLS_ALERT_HANDSHAKE_FAILURE': otherTls,
  ERR_SSL_TLSV1_UNRECOGNIZED_NAME: 'it does not know the name that it was asked for',
  ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED: 'it asks for a certificate of ours',
  EPROTO: otherTls,
  ECONNRESET: 'it closed the connection during the TLS handshake',
  UND_ERR_SOCKET: 'it closed the connection during the TLS handshake',
};

const connectionClosedCodes: ReadonlySet<string> = new Set(['ECONNRESET', 'EPIPE', 'ECONNABORTED']);

export const isConnectionClosed = (code: string): boolean => connectionClosedCodes.has(code);

/** Whether a name did not resolve. If several do not, this machine is probably offline. */
export const isDnsError = (code: string): boolean => Object.hasOwn(dnsErrors, code);

export const isNotTls = (code: string): boolean => tlsErrors[code] === noTls || code === 'EPROTO';

/** The code of a Node error; for an aggregate error, the code of its first one; else empty. */
export function errorCodeOf(error: unknown): string {
  const { code, errors } = Object(error) as { code?: unknown; errors?: unknown };
  if (typeof code === 'string') return code;
  return Array.isArray(errors) ? errorCodeOf(errors[0]) : '';
}

export function networkErrorText(code: string, tls = false): string | undefined {
  const tables = tls
    ? [tlsErrors, connectErrors, dnsErrors]
    : [connectErrors, dnsErrors, tlsErrors];
  return tables.find((table) => Object.hasOwn(table, code))?.[code];
}
