// A certificate authority for a test, made by the openssl command and deleted with the test.

import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const config = `
[ca]
default_ca = ours
[ours]
database = index
rand_serial = yes
new_certs_dir = .
default_md = sha256
unique_subject = no
policy = any
[any]
commonName = supplied
`;

export function makeAuthority() {
  const folder = mkdtempSync(join(tmpdir(), 'paygate-authority-'));
  const read = (name: string) => readFileSync(join(folder, name), 'utf8');
  const write = (name: string, text: string) => writeFileSync(join(folder, name), text);
  const run = (...args: string[]) => execFileSync('openssl', args, { cwd: folder, stdio: 'pipe' });
  const fresh = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  const kinds = { ec: fresh, rsa: ['-newkey', 'rsa:2048', '-nodes'] };
  write('config', config);
  write('index', '');
  const subject = ['-subj', '/CN=paygate test authority', '-days', '3650'];
  run('req', '-x509', ...fresh, ...subject, '-keyout', 'ca.key', '-out', 'ca.pem');
  return {
    /** PEM. */
    certificate: read('ca.pem'),
    /** @param from such as 20200101000000Z */
    issue(
      host: string,
      from: string,
      until: string,
      kind: keyof typeof kinds = 'ec',
    ): { key: string; cert: string } {
      write('extensions', `subjectAltName = DNS:${host}\n`);
      run('req', ...kinds[kind], '-subj', `/CN=${host}`, '-keyout', 'key', '-out', 'request');
      const signer = ['-config', 'config', '-cert', 'ca.pem', '-keyfile', 'ca.key'];
      const what = ['-in', 'request', '-extfile', 'extensions', '-out', 'cert'];
      run('ca', '-batch', '-notext', ...signer, ...what, '-startdate', from, '-enddate', until);
      return { key: read('key'), cert: read('cert') };
    },
    remove: () => rmSync(folder, { recursive: true }),
  };
}
