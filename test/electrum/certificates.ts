// Certificates for tests, made by the openssl command. No key is stored.

import { execFileSync } from 'node:child_process';
import { createHash, X509Certificate } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface Certificate {
  readonly key: string;
  readonly cert: string;
  readonly sha256: string;
}

/** A self-signed certificate, which can also serve as its own root. */
export function makeCertificate(options: { readonly host?: string } = {}): Certificate {
  const names = options.host ? `DNS:${options.host}` : 'DNS:localhost,IP:127.0.0.1';
  const folder = mkdtempSync(join(tmpdir(), 'paygate-certificate-'));
  const [keyFile, certFile] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
  try {
    const request = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1'];
    const subject = ['-subj', '/CN=paygate test', '-addext', `subjectAltName=${names}`];
    const files = ['-nodes', '-days', '3650', '-keyout', keyFile, '-out', certFile];
    execFileSync('openssl', [...request, ...subject, ...files], { stdio: 'pipe' });
    const cert = readFileSync(certFile, 'utf8');
    const { raw } = new X509Certificate(cert);
    const sha256 = createHash('sha256').update(raw).digest('hex');
    return { key: readFileSync(keyFile, 'utf8'), cert, sha256 };
  } finally {
    rmSync(folder, { recursive: true });
  }
}
