// Headers for Electrum clients: one, many, the tip, and the proof up to a checkpoint.
// https://electrum-protocol.readthedocs.io/en/latest/protocol-methods.html#blockchain-block-headers

import { bytesToHex } from '@noble/hashes/utils.js';
import { sha256x2 } from '@scure/btc-signer/utils.js';
import { displayHex } from '../../bitcoin/ids.ts';
import { merkleBranch, merkleLevels, rootOf } from '../chain/simulated-block.ts';
import type { ChainView } from './chain-view.ts';
import { badRequest, commas, nonNegativeInteger } from './params.ts';
import { isAtLeast, type ProtocolVersion } from './protocol-version.ts';

interface HeaderCall {
  readonly view: ChainView;
  readonly version: ProtocolVersion;
  readonly params: readonly unknown[];
}

/** Maximum number of headers in one response of block.headers. */
const maxHeaders = 2016;

/** Result of headers.subscribe and parameter of its notifications. */
export function tipResult(view: ChainView): { hex: string; height: number } {
  return { hex: headerHex(view, view.tipHeight), height: view.tipHeight };
}

function headerHex(view: ChainView, height: number): string {
  const header = view.header(height);
  return header ? bytesToHex(header) : badRequest(`height ${commas(height)} out of range`);
}

/** Proof that a header is in the chain up to a checkpoint height. */
function headerProof(view: ChainView, height: number, checkpoint: number) {
  if (height > checkpoint || checkpoint > view.tipHeight) {
    badRequest(
      `require header height ${commas(height)} <= cp_height ${commas(checkpoint)} <= ` +
        `chain height ${commas(view.tipHeight)}`,
    );
  }
  const hashes = Array.from({ length: checkpoint + 1 }, (_, at) =>
    sha256x2(view.header(at) ?? new Uint8Array()),
  );
  const tree = merkleLevels(hashes);
  return { branch: merkleBranch({ tree }, height), root: displayHex(rootOf(tree)) };
}

export function blockHeader({ view, params: [first, second = 0] }: HeaderCall): unknown {
  const height = nonNegativeInteger(first);
  const checkpoint = nonNegativeInteger(second);
  const header = headerHex(view, height);
  return checkpoint === 0 ? header : { header, ...headerProof(view, height, checkpoint) };
}

export function blockHeaders({
  view,
  version,
  params: [first, second, third = 0],
}: HeaderCall): unknown {
  const start = nonNegativeInteger(first);
  const asked = nonNegativeInteger(second);
  const checkpoint = nonNegativeInteger(third);
  const count = Math.max(0, Math.min(asked, maxHeaders, view.tipHeight + 1 - start));
  const headers = Array.from({ length: count }, (_, at) => headerHex(view, start + at));
  return {
    count,
    max: maxHeaders,
    ...(isAtLeast(version, '1.6') ? { headers } : { hex: headers.join('') }),
    ...(count > 0 && checkpoint > 0 && headerProof(view, start + count - 1, checkpoint)),
  };
}
