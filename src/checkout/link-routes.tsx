// The pages of links, below /l. A GET shows the form of a link. A POST makes an order, and leads to
// the page of that order. A cookie notes which order that was (payer-cookie.ts). No id is logged.

import { base64url } from '@scure/base';
import { type Context, Hono } from 'hono';
import { containsPrivateMaterial } from '../bitcoin/private-material.ts';
import type { Proxies } from '../domain/access/client-address.ts';
import { LinkRefusal, type LinkRefusalReason } from '../domain/order/link-refusal.ts';
import { isId } from '../domain/order/order-id.ts';
import { parseEnteredAmount, parsePayerInput } from '../domain/order/payer-input.ts';
import { readTypedAmount, typedDigitsOf, typedText } from '../domain/order/typed-amount.ts';
import { type ErrorCode, PaygateError } from '../lib/errors.ts';
import type { LinkRow } from '../store/orders/link-view.ts';
import {
  clientNetworkOf,
  isEncrypted,
  isSentFrom,
  ownOriginsOf,
} from '../web/limits/request-origin.ts';
import type { World } from '../world/world.ts';
import { beginPage, sendErrorPage, unframedHeaders } from './checkout-frame.tsx';
import { adjustmentOf, type LinkOrderOptions, orderByLink, ownOrder } from './link-order.ts';
import { orderOfCookie, setOrderCookie } from './payer-cookie.ts';
import { fieldErrors, refusedFields, typedAgain } from './payer-errors.ts';
import type { FieldTexts, ShownLink } from './payer-form.tsx';
import { LinkPage } from './payer-page.tsx';
import { type Reading, readingOf } from './reading.ts';
import type { Message, Words } from './words/words.ts';

export interface LinkRouteOptions extends LinkOrderOptions {
  readonly world: Pick<World, 'now' | 'randomBytes' | 'log'>;
  readonly proxies: Proxies;
  readonly publicUrl: string | undefined;
  /** Takes a request of the client. @throws PaygateError limited */
  readonly takeRequest: (rate: 'page' | 'linkOrder', context: Context) => void;
}

const formKeyBytes = 16;

interface RequestedLink {
  readonly link: LinkRow;
  readonly storeName: string;
  readonly reading: Reading;
}

export function createLinkRoutes(options: LinkRouteOptions): Hono {
  const { records, world, proxies, publicUrl, walletGap, takeRequest } = options;

  /** @throws PaygateError limited, invalid, not_found */
  function requested(context: Context): RequestedLink {
    const id = context.req.param('id') ?? '';
    const link = isId('lnk', id) ? records.linkView.byPublicId(id) : undefined;
    const asked = link && askedFor(context, askingWhatIsSent(link));
    takeRequest('page', context);
    if (hasSecret(context)) throw new PaygateError('invalid', 'A private key');
    if (asked === undefined) throw new PaygateError('not_found', 'Unknown link');
    return asked;
  }

  /** Without a mail server, no mail would go to the address. */
  const askingWhatIsSent = (link: LinkRow): LinkRow =>
    records.state.mailServer.read() === undefined ? { ...link, asksEmail: false } : link;

  /** Every page of a link, also of an error, has the frames and the language of its store. */
  function askedFor(context: Context, link: LinkRow): RequestedLink {
    const owner = records.catalog.store(link.storeId);
    return { link, storeName: owner.name, reading: beginPage(context, owner) };
  }

  function page(
    context: Context,
    { link, storeName, reading }: RequestedLink,
    { typed, errors }: Pick<ShownLink, 'typed' | 'errors'>,
  ): Response | Promise<Response> {
    const formKey = base64url.encode(world.randomBytes(formKeyBytes));
    const adjustBasisPoints = adjustmentOf(options, link);
    const shown = { link, storeName, adjustBasisPoints, formKey, typed, errors };
    const isWrong = Object.keys(errors).length > 0;
    return context.html(<LinkPage shown={shown} reading={reading} />, isWrong ? 400 : 200);
  }

  const app = new Hono();
  app.use(unframedHeaders);
  app.get('/:id', (context) => {
    const asked = requested(context);
    const { link } = asked;
    // A browser with an order may change it, also while the link makes none.
    const own = ownOrder(options, link, {
      orderId: orderOfCookie(records, context, link.publicId),
    });
    if (own === undefined) records.links.checkOpen(link.id, walletGap);
    else records.links.checkActive(link.id);
    const amount = proposedAmount(asked, context.req.query('amount'));
    return page(context, asked, { typed: { amount }, errors: {} });
  });
  app.post('/:id', async (context) => {
    const asked = requested(context);
    const { link, reading } = asked;
    if (!isSentFrom(context, ownOriginsOf(context, proxies, publicUrl))) {
      throw new PaygateError('forbidden', 'The form is not of our own page');
    }
    const { formKey, ...entered } = enteredIn(new URLSearchParams(await context.req.text()));
    const decimalSeparator = reading.formats.decimalSeparator();
    const { input, problems } = parsePayerInput(link, entered, decimalSeparator);
    if (problems !== undefined) {
      const errors = fieldErrors(link, problems, reading);
      return page(context, asked, { typed: typedAgain(entered, problems), errors });
    }
    takeRequest('linkOrder', context);
    try {
      const linkId = link.publicId;
      const orderId = orderOfCookie(records, context, linkId);
      const network = clientNetworkOf(context, proxies);
      const form = { ...input, formKey, orderId, network, language: reading.code };
      const { publicId } = await orderByLink(options, link, form);
      const secure = isEncrypted(context, proxies);
      setOrderCookie(records, context, { linkId, orderId: publicId, secure });
      return context.redirect(`../o/${publicId}${reading.langQuery}`, 303);
    } catch (error) {
      const errors =
        error instanceof LinkRefusal ? refusedFields(link, error.reason, reading) : undefined;
      if (errors === undefined) throw error;
      return page(context, asked, { typed: entered, errors });
    }
  });
  app.onError((error, context) => sendLinkError(options, context, error));
  return app;
}

const hasSecret = ({ req }: Context): boolean =>
  Object.values(req.query()).some(containsPrivateMaterial);

/**
 * `?amount=` of a link whose payer enters the amount. A program wrote it: its point stands before
 * decimals in every language.
 */
function proposedAmount(
  { link, reading: { formats } }: RequestedLink,
  amount: string | undefined,
): string | undefined {
  if (link.amount !== null || amount === undefined) return undefined;
  const decimalSeparator = formats.decimalSeparator();
  const { meanings: [asDecimal] = [] } = readTypedAmount(amount, typedDigitsOf(link.currency), '.');
  const typed =
    asDecimal === undefined || amount.includes(',')
      ? amount.replace('.', decimalSeparator)
      : typedText(asDecimal, link.currency, decimalSeparator);
  return typeof parseEnteredAmount(link, typed, decimalSeparator) === 'number' ? typed : undefined;
}

/** The button of a suggested amount follows the field for another amount. */
const enteredIn = (
  form: URLSearchParams,
): FieldTexts & { readonly formKey: string | undefined } => ({
  amount: form.getAll('amount').at(-1),
  note: form.get('note') ?? undefined,
  email: form.get('email') ?? undefined,
  formKey: form.get('key') ?? undefined,
});

const refusalTexts: Readonly<Record<LinkRefusalReason, (words: Words) => Message>> = {
  inactive: ({ link }) => link.closed,
  'used-up': ({ link }) => link.closed,
  gap: ({ errors }) => errors.gap,
  network: ({ errors }) => errors.network,
  // It stands at its field.
  emails: ({ errors }) => errors.limited,
  'no-price': ({ errors }) => errors.noPrice,
  // Its fixed amount can't be paid any more.
  'too-small': ({ link }) => link.closed,
  'too-large': ({ link }) => link.closed,
};

const errorTexts: Partial<Record<ErrorCode, (words: Words) => Message>> = {
  not_found: ({ errors }) => errors.unknownLink,
  limited: ({ errors }) => errors.limited,
  forbidden: ({ errors }) => errors.foreignForm,
  unavailable: ({ errors }) => errors.gap,
  invalid: ({ link, errors }) => ({ title: errors.foreignForm.title, text: link.privateKey }),
};

function sendLinkError(
  { world: { log } }: LinkRouteOptions,
  context: Context,
  error: Error,
): Response | Promise<Response> {
  const reading = context.get('reading') ?? readingOf(context);
  const textOf =
    error instanceof LinkRefusal
      ? refusalTexts[error.reason]
      : error instanceof PaygateError
        ? errorTexts[error.code]
        : undefined;
  const isForm = context.req.method === 'POST';
  const isKnown = context.get('reading') !== undefined;
  const url = `${context.req.param('id')}${reading.langQuery}`;
  return sendErrorPage(context, reading, error, {
    log,
    path: '/l/{id}',
    message: 'the page of a link failed',
    text: textOf?.(reading.words),
    // Its links to other languages would repeat a private key of the query.
    hasLanguages: isKnown && !(error instanceof PaygateError && error.code === 'invalid'),
    link: isForm && isKnown ? { url, text: reading.words.errors.back } : undefined,
  });
}
