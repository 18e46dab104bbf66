// The Chain page: what stands in the newest blocks and in the mempool, and the levers. It changes nothing.

import { html } from 'hono/html';
import { scriptToAddress } from '../../bitcoin/address.ts';
import { networks } from '../../bitcoin/network.ts';
import type { Markup } from '../../http/page.ts';
import type { Block } from '../block.ts';
import type { SimulatedChain } from '../chain.ts';
import type { SimulatedTransaction } from '../transaction.ts';
import { fates, levers } from './levers.ts';
import { showClock, showSat, table } from './page.ts';

const shownBlocks = 6;
const shownTransactions = 20;

export interface ChainView {
  readonly chain: SimulatedChain;
  /** Epoch milliseconds; undefined while the server is up. */
  readonly outageEndsAt: number | undefined;
  /** What the form begins with. */
  readonly address: string;
  readonly amountSat: string;
}

export const chainPage = (view: ChainView): Markup => html`<h1>Chain</h1>
  <p>You are the customers, the miners and the Electrum server. paygate does not know that they are played.</p>
  ${payForm(view)}
  ${mineForm}
  ${mempool(view.chain)}
  ${blocks(view.chain)}
  ${reorganiseForm}
  ${server(view)}`;

const payForm = ({ address, amountSat }: ChainView): Markup => html`<section>
  <h2>Pay an address</h2>
  <form class="row" method="post" action="/chain/pay">
    <label>Address <input name="address" value="${address}" maxlength="100" required autocomplete="off" /></label>
    <label>Asked for, in satoshis
      <input type="number" name="amount" value="${amountSat}" min="1" max="${levers.mostSat}" required />
    </label>
    <button name="how" value="exact">Exactly</button>
    <button name="how" value="short">Half of it</button>
    <button name="how" value="over">Half too much</button>
    <button name="how" value="twice">Twice</button>
  </form>
</section>`;

const mineForm = html`<section>
  <h2>Mine</h2>
  <form class="row" method="post" action="/chain/mine">
    <button name="blocks" value="1">1 block</button>
    <button name="blocks" value="6">6 blocks</button>
  </form>
</section>`;

function mempool(chain: SimulatedChain): Markup {
  const waiting = chain.mempool();
  const headings = ['Transaction', 'Pays', 'Fee', 'What the customer may do'];
  const newest = waiting.slice(-shownTransactions).reverse();
  const rows = newest.map((each) => mempoolRow(chain, each));
  return html`<section id="mempool" data-live>
    <h2>Waiting for a block: ${waiting.length}</h2>
    ${rows.length > 0 ? table('Waiting for a block', headings, rows) : html`<p>Nothing.</p>`}
  </section>`;
}

function mempoolRow(chain: SimulatedChain, transaction: SimulatedTransaction): Markup {
  const { txid, feeSat, vsize } = transaction;
  const short = txid.slice(0, 16);
  return html`<tr>
    <td><code>${short}…</code></td>
    <td>${recipients(chain, transaction)}</td>
    <td>${(feeSat / vsize).toFixed(1)} sat/vB</td>
    <td>
      <form class="row" method="post" action="/chain/replace">
        <input type="hidden" name="txid" value="${txid}" />
        <button id="fee-${short}" name="by" value="fee" aria-label="Replace by fee: ${short}">Replace by fee</button>
        <button id="spend-${short}" name="by" value="spend" aria-label="Double-spend: ${short}">Double-spend</button>
      </form>
    </td>
  </tr>`;
}

/** Whom it pays beside the faucet itself. */
function recipients(chain: SimulatedChain, { outputs }: SimulatedTransaction): Markup[] {
  const own = Buffer.from(chain.faucet.script);
  return outputs
    .filter(({ script }) => !own.equals(script))
    .map(
      ({ script, valueSat }) =>
        html`<div>${showSat(valueSat)} to <code>${scriptToAddress(script, networks.regtest)}</code></div>`,
    );
}

function blocks(chain: SimulatedChain): Markup {
  const newest = Array.from({ length: shownBlocks }, (_, back) =>
    chain.block(chain.tipHeight - back),
  );
  const rows = newest.flatMap((block) => (block === undefined ? [] : [blockRow(block)]));
  return html`<section id="blocks" data-live>
    <h2>Newest blocks</h2>
    ${table('Newest blocks', ['Height', 'Time', 'Payments', 'Hash'], rows)}
  </section>`;
}

const blockRow = ({ height, time, transactions, hash }: Block): Markup => html`<tr>
  <td>${height}</td>
  <td>${showClock(time * 1000)}</td>
  <td>${transactions.length - 1}</td>
  <td><code>…${hash.slice(-16)}</code></td>
</tr>`;

const reorganiseForm = html`<section>
  <h2>Reorganise</h2>
  <p>The newest blocks leave the chain, and one more than those takes their place.</p>
  <form class="row" method="post" action="/chain/reorganise">
    <label>Blocks that leave
      <input type="number" name="depth" value="1" min="1" max="${levers.mostDepth}" required />
    </label>
    <label>Payments in them
      <select name="fate">${[...fates].map(([name, { words }]) => html`<option value="${name}">${words}</option>`)}</select>
    </label>
    <button>Reorganise</button>
  </form>
</section>`;

function server({ outageEndsAt }: ChainView): Markup {
  const state =
    outageEndsAt === undefined
      ? html`<p>It is up.</p>`
      : html`<p>It is stopped until ${showClock(outageEndsAt)}; paygate is back within a minute after.</p>`;
  return html`<section>
    <h2>The Electrum server</h2>
    <div id="server" data-live>${state}</div>
    <form class="row" method="post" action="/chain/server">
      <button name="seconds" value="10">Stop for 10 seconds</button>
      <button name="seconds" value="60">Stop for a minute</button>
      <button name="seconds" value="0">Start again</button>
    </form>
  </section>`;
}
