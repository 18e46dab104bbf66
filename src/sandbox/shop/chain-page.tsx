// The Chain page, which the sandbox adds to the dashboard: newest blocks, mempool, and forms that
// change the simulated chain. It reads no data of paygate.

import { scriptToAddress } from '../../bitcoin/address.ts';
import type { Txid } from '../../bitcoin/ids.ts';
import { networks } from '../../bitcoin/network.ts';
import { base, type ExtraPage, type PageRequest } from '../../dashboard/page.ts';
import { Field, Form } from '../../dashboard/parts/form-parts.tsx';
import { Layout, RowTable } from '../../dashboard/parts/layout.tsx';
import { formatSat } from '../../domain/text/format.ts';
import { Time } from '../../web/values.tsx';
import type { Cancel, World } from '../../world/world.ts';
import type { SimulatedChain } from '../chain/simulated-chain.ts';
import type { SimulatedTransaction } from '../chain/simulated-transaction.ts';
import type { SimulatedServer } from '../electrum/simulated-server.ts';
import {
  controlLimits,
  type Fields,
  mine,
  pay,
  reorganise,
  replace,
  stopMs,
  transactionFates,
} from './chain-controls.ts';

const path = '/chain';
export const chainPath = base + path;
const shownBlocks = 6;
const shownTransactions = 20;

export interface ChainPageOptions {
  readonly world: Pick<World, 'now' | 'after'>;
  readonly chain: SimulatedChain;
  readonly server: SimulatedServer;
  readonly shopUrl: string;
}

interface Shown {
  readonly request: PageRequest;
  readonly chain: SimulatedChain;
}

export function createChainPage({ world, chain, server, shopUrl }: ChainPageOptions) {
  const listeners = new Set<() => void>();
  const tell = (): void => {
    for (const listener of listeners) listener();
  };
  const stopListening = chain.onChange(tell);
  const outage = new Outage(server, world, tell);
  const lever = (pull: (fields: Fields) => void) => async (request: PageRequest) => {
    const fields: Fields = Object.fromEntries(request.form);
    pull(fields);
    return { to: placeAfter(request, fields) };
  };
  const page: ExtraPage = {
    name: 'Chain',
    path,
    show: (request) => chainMarkup({ request, chain, outage, shopUrl }),
    actions: {
      pay: lever((fields) => pay(chain, fields)),
      mine: lever((fields) => mine(chain, fields)),
      replace: lever((fields) => replace(chain, fields)),
      reorganise: lever((fields) => reorganise(chain, fields)),
      stop: lever((fields) => outage.begin(stopMs(fields))),
      start: lever(() => outage.end()),
    },
    listen(onChange) {
      listeners.add(onChange);
      return () => listeners.delete(onChange);
    },
  };
  function end(): void {
    stopListening();
    outage.end();
  }
  return { page, end };
}

/** The same page, with the last address and amount in its form. */
function placeAfter({ url }: PageRequest, { address, amount }: Fields): string {
  if (address === undefined || amount === undefined) return url;
  return `${chainPath}?${new URLSearchParams({ address, amount })}`;
}

interface ChainProps extends Shown {
  readonly outage: Outage;
  readonly shopUrl: string;
}

const chainMarkup = ({ request, chain, outage, shopUrl }: ChainProps) => (
  <Layout request={request} title="Chain" live>
    <p>
      Simulate the customers, the miners and the Electrum server. For paygate they are real. Order
      something in the <a href={shopUrl}>demo shop</a> first.
    </p>
    <PayForm request={request} />
    <section>
      <h2>Mine</h2>
      <Form request={request} action="mine">
        <Buttons name="blocks" choices={{ 1: '1 block', 6: '6 blocks' }} />
      </Form>
    </section>
    <Mempool request={request} chain={chain} />
    <Blocks chain={chain} />
    <ReorganiseForm request={request} />
    <Server request={request} outage={outage} />
  </Layout>
);

interface ButtonsProps {
  readonly name: string;
  /** Label of each button, by the value that it sends. */
  readonly choices: Readonly<Record<string, string>>;
  /** Object of the action, when a page has several. */
  readonly of?: string;
}

const Buttons = ({ name, choices, of }: ButtonsProps) => (
  <div class="row">
    {Object.entries(choices).map(([value, label], place) => (
      <button
        type="submit"
        class={place === 0 ? undefined : 'other'}
        name={name}
        value={value}
        aria-label={of === undefined ? undefined : `${label}: ${of}`}
      >
        {label}
      </button>
    ))}
  </div>
);

const amountsPaid = {
  exact: 'Exactly',
  short: 'Half of it',
  over: 'Half too much',
  twice: 'Twice',
};

const changes = { fee: 'Replace by fee', spend: 'Double-spend' };

const PayForm = ({ request }: { readonly request: PageRequest }) => {
  const asked = (name: string): string => request.context.req.query(name) ?? '';
  const amounts = { min: 1, max: controlLimits.maxSat };
  return (
    <section>
      <h2>Pay an address</h2>
      <Form request={request} action="pay">
        <div class="grid">
          <Field
            request={request}
            name="address"
            label="Address"
            value={asked('address')}
            attributes={{ maxlength: 100, autocomplete: 'off' }}
          />
          <Field
            request={request}
            name="amount"
            type="number"
            label="Amount, in satoshis"
            value={asked('amount')}
            attributes={amounts}
          />
        </div>
        <Buttons name="how" choices={amountsPaid} />
      </Form>
    </section>
  );
};

const Mempool = ({ request, chain }: Shown) => {
  const waiting = chain.mempool();
  const newest = waiting.slice(-shownTransactions).reverse();
  return (
    <section>
      <h2>Mempool: {waiting.length}</h2>
      {newest.length === 0 ? (
        <p>Nothing.</p>
      ) : (
        <RowTable
          label="Mempool"
          rows={newest}
          columns={[
            ['Transaction', ({ txid }) => <code>{shortOf(txid)}…</code>],
            ['Pays', (transaction) => <Recipients chain={chain} transaction={transaction} />],
            ['Fee', ({ feeSat, vsize }) => `${(feeSat / vsize).toFixed(1)} sat/vB`],
            ['Actions', ({ txid }) => <ReplaceForm request={request} txid={txid} />],
          ]}
        />
      )}
    </section>
  );
};

const shortOf = (txid: Txid): string => txid.slice(0, 16);

const ReplaceForm = ({ request, txid }: { readonly request: PageRequest; readonly txid: Txid }) => (
  <Form request={request} action="replace">
    <input type="hidden" name="txid" value={txid} />
    <Buttons name="by" choices={changes} of={shortOf(txid)} />
  </Form>
);

interface RecipientsProps {
  readonly chain: SimulatedChain;
  readonly transaction: SimulatedTransaction;
}

/** Outputs that do not pay the faucet. */
const Recipients = ({ chain, transaction }: RecipientsProps) => {
  const own = Buffer.from(chain.faucet.script);
  return (
    <>
      {transaction.outputs
        .filter(({ script }) => !own.equals(script))
        .map(({ script, valueSat }) => (
          <div>
            {formatSat(valueSat)} to <code>{scriptToAddress(script, networks.regtest)}</code>
          </div>
        ))}
    </>
  );
};

const Blocks = ({ chain }: Pick<Shown, 'chain'>) => {
  const heights = Array.from({ length: shownBlocks }, (_, back) => chain.tipHeight - back);
  const newest = heights.flatMap((height) => chain.block(height) ?? []);
  return (
    <section>
      <h2>Newest blocks</h2>
      <RowTable
        label="Newest blocks"
        rows={newest}
        columns={[
          ['Height', ({ height }) => height],
          ['Time', ({ time }) => <Time at={time * 1000} />],
          ['Payments', ({ transactions }) => transactions.length - 1],
          ['Hash', ({ hash }) => <code>…{hash.slice(-16)}</code>],
        ]}
      />
    </section>
  );
};

const ReorganiseForm = ({ request }: { readonly request: PageRequest }) => (
  <section>
    <h2>Reorganise</h2>
    <p>Disconnects the newest blocks and connects one block more than those.</p>
    <Form request={request} action="reorganise" button="Reorganise">
      <div class="grid">
        <Field
          request={request}
          name="depth"
          type="number"
          label="Blocks to disconnect"
          value="1"
          attributes={{ min: 1, max: controlLimits.maxDepth }}
        />
        <label>
          Payments in them
          <select name="fate">
            {[...transactionFates].map(([name, { words }]) => (
              <option value={name}>{words}</option>
            ))}
          </select>
        </label>
      </div>
    </Form>
  </section>
);

const Server = ({ request, outage }: Pick<ChainProps, 'request' | 'outage'>) => (
  <section>
    <h2>The Electrum server</h2>
    {outage.endsAt === undefined ? (
      <>
        <p>It is running.</p>
        <Form request={request} action="stop">
          <Buttons
            name="seconds"
            choices={{ 10: 'Stop for 10 seconds', 60: 'Stop for a minute' }}
          />
        </Form>
      </>
    ) : (
      <>
        <p>
          It is stopped until <Time at={outage.endsAt} />. paygate reconnects within a minute after.
        </p>
        <Form request={request} action="start" button="Start it again" />
      </>
    )}
  </section>
);

class Outage {
  readonly #server: SimulatedServer;
  readonly #world: Pick<World, 'now' | 'after'>;
  readonly #onChange: () => void;
  #end: (() => void) | undefined;
  #endsAt = 0;

  /** @param onChange called when an outage begins or ends */
  constructor(server: SimulatedServer, world: Pick<World, 'now' | 'after'>, onChange: () => void) {
    this.#server = server;
    this.#world = world;
    this.#onChange = onChange;
  }

  /** End of the outage, epoch milliseconds; undefined while the server is up. */
  get endsAt(): number | undefined {
    return this.#end && this.#endsAt;
  }

  /** Begins an outage, or restarts the current one. */
  begin(lengthMs: number): void {
    this.#end?.();
    const heal = this.#server.inject({ kind: 'refuse' });
    this.#server.disconnectAll();
    const cancel: Cancel = this.#world.after(lengthMs, () => this.end());
    this.#endsAt = this.#world.now() + lengthMs;
    this.#end = () => {
      cancel();
      heal();
    };
    this.#onChange();
  }

  end(): void {
    if (this.#end === undefined) return;
    this.#end();
    this.#end = undefined;
    this.#onChange();
  }
}
