// A shop with a plugin for BTCPay Server: a real HTTP server with the plugin's hook, and a client of
// the Greenfield API.

import { createHmac } from 'node:crypto';
import { whenOver } from '../../support/files.ts';
import { type Answer, type ReceivedRequest, startReceiver } from '../../support/receiver.ts';
import {
  ApiError,
  answerOf,
  type Json,
  type Plugin,
  type Sale,
  type ShopSide,
  type Typed,
} from './plugin.ts';

export interface PluginShop extends ShopSide {
  readonly plugin: Plugin;
  readonly sales: readonly Sale[];
  /** Events with a good signature, in order. */
  readonly events: Json[];
  /** Statuses that the hook answered. */
  readonly answers: number[];
  /** Its API calls: method, path without ids, status. */
  readonly calls: string[];
  isDown: boolean;
  /** What the merchant types into the settings page. */
  type(typed: Typed): void;
  /** Saves the settings page. @throws what it shows */
  connect(): Promise<void>;
  sell(total?: number): Promise<Sale>;
}

export async function startPluginShop(plugin: Plugin): Promise<PluginShop> {
  const server = await startReceiver({ answer: (request) => receive(request) });
  whenOver(() => server.close());
  const sales: Sale[] = [];
  let typed: Typed = { origin: '', key: '', storeId: '' };
  const shop: PluginShop = {
    ...{ plugin, name: plugin.name, sales, events: [], answers: [], calls: [], isDown: false },
    hookUrl: `${server.origin}/index.php?route=payment/btcpay|callback&shop=1`,
    settings: new Map([
      ['catalog/price/scope', '1'],
      ['web/seo/use_rewrites', '1'],
    ]),
    get typed() {
      return typed;
    },
    type(fields) {
      typed = fields;
    },
    async connect() {
      await plugin.connect?.(shop);
    },
    api: (method, path, body) => askPaygate(shop, method, path, body),
    async sell(total = 20) {
      const sale: Sale = {
        ...{ id: sales.length + 1, total, state: plugin.firstState },
        ...{ effects: [], booked: new Set() },
      };
      await plugin.before?.(shop, sale);
      sale.invoice = await shop.api('POST', '/stores/{s}/invoices', plugin.asks(sale, shop));
      sales.push(sale);
      await plugin.after?.(shop, sale);
      return sale;
    },
  };

  async function receive(request: ReceivedRequest): Promise<Answer> {
    const status = shop.isDown ? 503 : await handle(request);
    shop.answers.push(status);
    return answerOf(status);
  }

  async function handle({ body = '', headers }: ReceivedRequest): Promise<number> {
    const digest = createHmac('sha256', shop.hook?.secret ?? '')
      .update(body)
      .digest('hex');
    if (headers['btcpay-sig'] !== `sha256=${digest}`) return plugin.wrongSignature;
    const event = JSON.parse(body);
    shop.events.push(event);
    const finds = plugin.finds ?? (({ invoice }, { invoiceId }) => invoice?.id === invoiceId);
    const sale = sales.find((each) => finds(each, event));
    if (sale === undefined) return plugin.unknownInvoice;
    const at = `/stores/{s}/invoices/${event.invoiceId}`;
    try {
      const status = await plugin.books({
        ...{ event, sale, shop },
        invoice: () => shop.api('GET', at),
        methods: () => shop.api('GET', `${at}/payment-methods`),
      });
      sale.lastType = event.type;
      return status ?? 200;
    } catch (error) {
      if (error instanceof ApiError) return 500;
      throw error;
    }
  }

  return shop;
}

async function askPaygate(shop: PluginShop, method: string, path: string, body?: object) {
  const { origin, key, storeId } = shop.typed;
  const response = await fetch(`${origin}/api/v1${path.replace('{s}', storeId)}`, {
    ...{ method, redirect: 'manual' },
    headers: { Authorization: `token ${key}`, 'Content-Type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  shop.calls.push(`${method} ${path.replace(/(ord_|webhooks\/)\w+/, '$1')} ${response.status}`);
  if (response.status !== 200) throw new ApiError(response.status, text);
  return JSON.parse(text);
}
