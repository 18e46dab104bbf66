// An app with prices and a link, and a customer who fills in its form without script.

import type { LinkBody } from '../../src/domain/order/link-input.ts';
import type { OrderJson } from '../../src/domain/order/order-json.ts';
import type { TestAppOptions } from './app.ts';
import { openPriced, type PricedApp } from './priced.ts';
import { type Seen, type Visitor, visitorOf } from './visitor.ts';

/** A browser on the page of a link. */
export interface Payer extends Pick<LinkScene, 'see' | 'submit' | 'send'> {
  readonly visitor: Visitor;
}

export interface LinkScene {
  readonly app: PricedApp;
  readonly id: string;
  /** The path of its page. */
  readonly path: string;
  see(query?: string, headers?: Record<string, string>): Promise<Seen>;
  /** Loads the page and submits its form, in a browser of its own. */
  submit(fields?: Record<string, string>, query?: string): Promise<Seen>;
  /** Sends a body to the page, from a browser of its own. */
  send(body: string, headers?: Record<string, string>): Promise<Seen>;
  /** A browser that stores its cookie. @param network its address, by a trusted proxy */
  browser(network?: string): Payer;
  change(body: LinkBody): Promise<void>;
  /** The orders of the link, the newest first. */
  orders(): Promise<OrderJson[]>;
}

export async function openLink(
  body: LinkBody = {},
  options: TestAppOptions = {},
): Promise<LinkScene> {
  const app = await openPriced(options);
  const made = await app.post('/links', { title: 'Poster', ...body });
  if (made.status !== 200) throw new Error(`no link: ${JSON.stringify(made.body)}`);
  const { id } = made.body;
  const path = `/l/${id}`;
  const scene = {
    app,
    id,
    path,
    browser: (network?: string) => payerOn(visitorOf(app, from(network)), path),
    see: (...asked: Parameters<Payer['see']>) => scene.browser().see(...asked),
    submit: (...asked: Parameters<Payer['submit']>) => scene.browser().submit(...asked),
    send: (...asked: Parameters<Payer['send']>) => scene.browser().send(...asked),
    async change(change: LinkBody) {
      const changed = await app.post(`/links/${id}`, change);
      if (changed.status !== 200) throw new Error(JSON.stringify(changed.body));
    },
    orders: async () => (await app.get(`/orders?link_id=${id}&limit=100`)).body.data,
  };
  return scene;
}

const from = (network: string | undefined) =>
  network === undefined ? {} : { headers: { 'X-Forwarded-For': network } };

function payerOn(visitor: Visitor, path: string): Payer {
  return {
    visitor,
    see: (query = '', headers = {}) => visitor.get(path + query, headers),
    send: (form, headers = {}) => visitor.post(path, form, headers),
    async submit(fields = {}, query = '') {
      const { text } = await visitor.get(path + query);
      const form = formIn(text);
      const sent = new URLSearchParams({ key: form.key, ...fields });
      return visitor.post(`/l/${form.action}`, String(sent));
    },
  };
}

/** The form of a page: where it is sent, and its hidden key. */
export function formIn(text: string): { readonly action: string; readonly key: string } {
  const [, action] = /<form method="post" action="([^"]+)"/.exec(text) ?? [];
  const [, key] = /name="key" value="([^"]+)"/.exec(text) ?? [];
  if (action === undefined || key === undefined) throw new Error(`no form: ${text}`);
  return { action, key };
}

/** 25,000 sat at the rate of the sources. */
export const fixed = { amount: '12.50', currency: 'EUR' };
