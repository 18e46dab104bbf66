// What the answer to a test callback means: would the shop accept the callback of a payment?

import { type AnswerVerdict, answersWithPage } from './callback-answer.ts';

/** A stable code; part of `callbacks test --json`. */
export type TestVerdict = AnswerVerdict | 'not-delivered';

export interface TestAnswer {
  /** Null for an attempt that failed. */
  readonly verdict: AnswerVerdict | null;
  readonly httpStatus: number | null;
  readonly body: string | null;
  readonly doubt?: string | null;
}

export interface TestedUrl {
  readonly callbackUrl: string;
  /** The shop has an order with the address of the test. */
  readonly hasOrder: boolean;
}

export interface TestResult {
  readonly verdict: TestVerdict;
  /** The shop would accept the callback of a payment. */
  readonly accepts: boolean;
  /** For a merchant; null if the reason of the attempt says enough. */
  readonly meaning: string | null;
}

/** What a test payment does in the shop. */
export const testEffect =
  'The shop takes it for a real payment: at status 2 it treats the order as paid.';

export function testResult(
  { verdict, httpStatus, body, doubt }: TestAnswer,
  { callbackUrl, hasOrder }: TestedUrl,
): TestResult {
  if (verdict === null) {
    const isWordPress = httpStatus === 400 && body?.trim() === '-1';
    const meaning = isWordPress ? wordPressText : null;
    return { verdict: 'not-delivered', accepts: false, meaning };
  }
  if (verdict === 'empty' && carriesSecret(callbackUrl)) {
    return { verdict, accepts: true, meaning: hasOrder ? silentOrderText : silentText };
  }
  if (verdict === 'web-page' && !doubt && answersWithPage(callbackUrl)) {
    return { verdict, accepts: true, meaning: `${pageText}; ${hasOrder ? seeOrder : tryOrder}` };
  }
  if (verdict === 'unknown-order' && hasOrder) {
    return { verdict, accepts: false, meaning: noSuchOrderText };
  }
  return { verdict, ...meanings[verdict] };
}

const meanings: Readonly<Record<AnswerVerdict, Omit<TestResult, 'verdict'>>> = {
  accepted: { accepts: true, meaning: 'the shop accepted it' },
  empty: {
    accepts: false,
    meaning:
      'empty: did the URL lose its secret? (let a receiver of your own that needs none answer ok)',
  },
  'web-page': {
    accepts: false,
    meaning: "the shop's page answered, not the plugin: permalinks? is the plugin on?",
  },
  'wrong-secret': {
    accepts: false,
    meaning: 'wrong secret: compare the one in the Callback URL with the one of the plugin',
  },
  'unknown-order': {
    accepts: true,
    meaning:
      'the secret and URL are right; the plugin knows no such order (that is expected of a test)',
  },
  refused: { accepts: false, meaning: 'the shop refused it: see its answer' },
};

const noSuchOrderText =
  'the secret and URL are right, but the shop knows no order with this address';
const seeOrder = 'see the order in the shop';
const tryOrder = 'a test payment to a real order shows more';
const silentOrderText = `empty: plugins such as WooCommerce accept a payment so; ${seeOrder}`;
const silentText = `empty: some receivers answer an unknown order so; ${tryOrder}`;
const pageText =
  'a page: the plugin for Easy Digital Downloads answers so, and a shop without it does too';
/** `WC_API::handle_api_requests` of WooCommerce, if no plugin handles the request. */
const wordPressText = 'WordPress answered, and no plugin handled it: is the plugin on?';

/** Parameters by which shops find the plugin. Any other parameter may be the secret. */
export const routingNames =
  /^(?:wc-api|[a-z]+-listener|route|rest_route|fc|module|controller|option|task|view|action|lang(?:uage)?|id_lang|isolang|page|page_id)$/i;
/** A path segment that no person wrote. */
const randomSegment = /^(?=.*\d)(?=.*[a-z])[\w~-]{16,}$/i;

/** Whether a Callback URL has a part that only the shop and paygate know. */
export function carriesSecret(callbackUrl: string): boolean {
  const [path = '', query = ''] = callbackUrl.replace(/^[^:]*:\/\/[^/?]*/, '').split(/\?(.*)/s);
  const isSecret = ([name, value]: [string, string]): boolean =>
    value === '' ? randomSegment.test(name) : !routingNames.test(name);
  return (
    path.split('/').some((each) => randomSegment.test(each)) ||
    [...new URLSearchParams(query)].some(isSecret)
  );
}
