// `paygate store lightning`: the Lightning node of a store. Before it is stored, the node must deny
// to spend. The credential is read from a file, and never printed.

import { readFileSync } from 'node:fs';
import { type Command, Option } from 'commander';
import { readConfig } from '../../config.ts';
import type { NodeKind } from '../../domain/store/lightning-node.ts';
import { PaygateError, reasonOf, throwInvalid } from '../../lib/errors.ts';
import { parseNodeSettings } from '../../lightning/node-settings.ts';
import { checkNode } from '../../lightning/open-node.ts';
import type { Records } from '../../store/open-records.ts';
import {
  type FileOptions,
  fileCommand,
  print,
  recordChange,
  rowId,
  table,
  withStore,
  world,
} from '../command.ts';

interface LightningOptions extends FileOptions {
  readonly kind?: NodeKind;
  readonly url?: string;
  readonly credentialFile?: string;
  readonly off?: boolean;
}

export function lightningCommand(): Command {
  return fileCommand('lightning', 'set, show or remove the Lightning node of a store')
    .argument('<id>', 'of the store', rowId)
    .addOption(new Option('--kind <kind>', 'of the node').choices(['lnd', 'phoenixd']))
    .option('--url <url>', 'of its HTTP API, such as https://umbrel.local:8080')
    .option(
      '--credential-file <file>',
      'macaroon for invoices of an LND, limited password of a phoenixd; - reads standard input',
    )
    .option('--off', 'make no more invoices, and record no more payments of the node')
    .action((id: number, given: LightningOptions) =>
      withStore(given, async (records) => {
        const { name } = records.catalog.store(id);
        const { kind, url, credentialFile, off } = given;
        if (off) await removeNode(records, id);
        else if (kind !== undefined || url !== undefined || credentialFile !== undefined) {
          await setNode(records, id, given);
        }
        const node = describe(records, id);
        print(given, { store_id: id, node }, () =>
          node === null
            ? `Store ${id} "${name}" has no Lightning node.`
            : table([
                ['store', `${id} "${name}"`],
                ['node', node.kind],
                ['URL', node.url],
                ['public key', node.public_key],
                ['certificate', node.certificate_sha256 ?? 'none, or by the usual authorities'],
              ]),
        );
      }),
    );
}

/** Without the credential. */
function describe({ state }: Records, id: number) {
  const node = state.lightningNode(id).read();
  if (node === undefined) return null;
  const { kind, url, publicKey, certificate } = node;
  return {
    kind,
    url,
    public_key: publicKey,
    certificate_sha256: certificate?.kind === 'pinned' ? certificate.sha256 : null,
  };
}

async function setNode(
  records: Records,
  id: number,
  { kind, url, credentialFile }: LightningOptions,
): Promise<void> {
  const settings = parseNodeSettings(
    kind ?? throwInvalid('--kind: name the kind of the node'),
    url ?? throwInvalid('--url: name the node'),
    credentialIn(credentialFile ?? throwInvalid('--credential-file: name the file')),
  );
  const { proxy } = readConfig({}, process.env);
  const { node, cursor } = await checkNode(world, settings, { network: records.network, proxy });
  const { kind: _, url: place, publicKey } = node;
  await records.database.write((tx) => {
    records.lightningInvoices.setNode(tx, world.now(), id, node, cursor);
    const detail = { node: node.kind, url: place, public_key: publicKey };
    recordChange(records, tx, 'store.lightning', detail, id);
  });
}

async function removeNode(records: Records, id: number): Promise<void> {
  await records.database.write((tx) => {
    records.lightningInvoices.setNode(tx, world.now(), id, undefined);
    recordChange(records, tx, 'store.lightning-off', {}, id);
  });
}

/** A macaroon is a file of bytes: it is read as hex. @throws PaygateError invalid */
function credentialIn(file: string): string {
  try {
    const bytes = readFileSync(file === '-' ? 0 : file);
    const text = bytes.toString('utf8');
    return /^[\x20-\x7e\s]*$/.test(text) ? text.trim() : bytes.toString('hex');
  } catch (error) {
    throw new PaygateError('invalid', `--credential-file: ${file}: ${reasonOf(error)}`);
  }
}
