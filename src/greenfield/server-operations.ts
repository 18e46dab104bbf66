// What a plugin asks of the server, its key, its store and the rates.

import type { Context } from 'hono';
import * as z from 'zod';
import { presentedKey } from '../api/authentication.ts';
import { type Operation, operation } from '../api/operation.ts';
import { rateFor } from '../api/orders/new-order.ts';
import { permissionsFor } from '../domain/access/key-scope.ts';
import { lightningMethodId, methodId, oldMethodIds } from '../domain/order/invoice.ts';
import { formatPrice } from '../domain/payment/money.ts';
import { PaygateError, reasonOf } from '../lib/errors.ts';
import type { Key } from '../store/access/api-keys.ts';
import { hasLightning, type RouteOptions, storeOf } from './greenfield-routes.ts';

/** The version of BTCPay Server whose API this follows. Plugins compare it with what they need. */
const apiVersion = '2.4.1';

/** Shops show customers nothing to pay with while it is false. */
function canMakeOrders({ checkIssuing }: RouteOptions): boolean {
  try {
    checkIssuing();
    return true;
  } catch {
    return false;
  }
}

function serverInfo(options: RouteOptions) {
  const height = options.records.headers.tipHeight() ?? 0;
  const fullySynched = canMakeOrders(options);
  const nodeInformation = { headers: height, blocks: height, verificationProgress: 1 };
  const place = { chainHeight: height, syncHeight: height, nodeInformation };
  return {
    version: apiVersion,
    onion: null,
    supportedPaymentMethods: [methodId],
    fullySynched,
    syncStatus: [{ paymentMethodId: methodId, available: fullySynched, ...place }],
  };
}

function storeJson(options: RouteOptions, key: Key) {
  const row = storeOf(options, key);
  return {
    id: row.publicId,
    name: row.name,
    website: null,
    supportUrl: null,
    defaultCurrency: row.currency ?? 'EUR',
    invoiceExpiration: row.orderSeconds,
    monitoringExpiration: 86_400,
    speedPolicy: 'MediumSpeed',
    paymentTolerance: row.toleranceBasisPoints / 100,
    archived: false,
    defaultPaymentMethod: methodId,
    defaultLang: row.language ?? 'en',
    receipt: { enabled: true, showQR: true, showPayments: true },
  };
}

/** Empty without a wallet: plugins then say that one is missing. */
function paymentMethods(options: RouteOptions, key: Key) {
  const { id, walletId } = storeOf(options, key);
  const methods: readonly (keyof typeof oldMethodIds)[] = [
    ...(walletId === null ? [] : ([methodId] as const)),
    ...(hasLightning(options, id) ? ([lightningMethodId] as const) : []),
  ];
  // The PrestaShop plugin reads the form of BTCPay Server 1.
  if (key.plugin === 'prestashop') {
    return Object.fromEntries(
      methods.map((paymentMethodId) => [
        oldMethodIds[paymentMethodId],
        { enabled: true, paymentMethodId, cryptoCode: 'BTC', data: {} },
      ]),
    );
  }
  return methods.map((paymentMethodId) => ({ enabled: true, paymentMethodId }));
}

/** @param asked such as `BTC_EUR`; all that have a price without any */
async function rates(options: RouteOptions, asked: readonly string[]) {
  const all = async () => (await options.prices?.currencies())?.map(({ code }) => `BTC_${code}`);
  const pairs = asked.length > 0 ? asked : ((await all()) ?? []);
  return Promise.all(
    pairs.slice(0, maxPairs).map(async (pair) => {
      const [, code = ''] = /^BTC_([A-Z]{3})$/i.exec(pair) ?? [];
      try {
        if (code === '') throw new PaygateError('invalid', 'a pair such as BTC_EUR is expected');
        const rate = formatPrice(await rateFor(options, code.toUpperCase()));
        return { currencyPair: pair, errors: [], rate };
      } catch (error) {
        if (!(error instanceof PaygateError)) throw error;
        return { currencyPair: pair, errors: [reasonOf(error)], rate: null };
      }
    }),
  );
}

const maxPairs = 400;

const text = z.string();
const storeAnswer = z.looseObject({ id: text, name: text });
const info = z.looseObject({ version: text, fullySynched: z.boolean() });
const current = z.object({ apiKey: text, label: text, permissions: z.array(text) });
const methodsAnswer = z.array(z.looseObject({ enabled: z.boolean() }));

const health = (options: RouteOptions) =>
  operation({
    tag: 'Server',
    methods: ['GET'],
    path: '/v1/health',
    summary: 'Whether orders can be made',
    open: true,
    answer: z.object({ synchronized: z.boolean() }),
    run: () => ({ synchronized: canMakeOrders(options) }),
  });

/** Each `{name}` of a path. */
const paramsOf = (path: string) =>
  z.object(
    Object.fromEntries([...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => [name, text])),
  );

/** Reads for a key of the store, each by its path, its permission and what it returns. */
export function serverOperations(options: RouteOptions): Operation[] {
  const read = <Answer extends z.ZodType>(
    tag: 'Server' | 'Stores' | 'Prices',
    path: string,
    summary: string,
    answer: Answer,
    run: (asked: { readonly key: Key; readonly context: Context }) => Promise<z.infer<Answer>>,
  ): Operation =>
    operation({
      tag,
      path,
      summary,
      answer,
      run,
      methods: ['GET'],
      permission: 'canviewstoresettings',
      params: paramsOf(path),
    });
  const at = '/v1/stores/{storeId}';
  return [
    health(options),
    read('Server', '/v1/server/info', 'The server', info, async () => serverInfo(options)),
    read('Server', '/v1/api-keys/current', 'The key of the request', current, async (asked) => {
      const { publicId } = storeOf(options, asked.key);
      const { text: apiKey = '' } = presentedKey(asked.context);
      return { apiKey, label: 'paygate', permissions: permissionsFor(asked.key, publicId) };
    }),
    read('Stores', '/v1/stores', 'The store of the key', z.array(storeAnswer), async ({ key }) => [
      storeJson(options, key),
    ]),
    read('Stores', at, 'A store', storeAnswer, async ({ key }) => storeJson(options, key)),
    read(
      ...(['Stores', `${at}/payment-methods`, 'How customers pay'] as const),
      z.union([methodsAnswer, z.record(text, z.unknown())]),
      async ({ key }) => paymentMethods(options, key),
    ),
    read(
      ...(['Stores', `${at}/payment-methods/OnChain`, 'The same, as older plugins ask'] as const),
      methodsAnswer,
      async ({ key }) =>
        storeOf(options, key).walletId === null ? [] : [{ enabled: true, cryptoCode: 'BTC' }],
    ),
    read(
      ...(['Stores', `${at}/payment-methods/LightningNetwork`, 'The node of the store'] as const),
      methodsAnswer,
      async ({ key }) =>
        hasLightning(options, storeOf(options, key).id)
          ? [{ enabled: true, cryptoCode: 'BTC' }]
          : [],
    ),
    read(
      ...(['Prices', `${at}/rates`, 'Rates of `?currencyPair=BTC_EUR`, or all'] as const),
      z.array(z.looseObject({ currencyPair: text, rate: text.nullable() })),
      ({ context }) => rates(options, context.req.queries('currencyPair') ?? []),
    ),
  ];
}
