// Checks every request to the demo shop before its route runs. The Host must be a loopback name
// (against DNS rebinding), the size is limited, and a change must come from the shop's own pages. A
// webhook has a signature instead. It also sets the security headers.

import type { Context, Hono } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { PaygateError } from '../../lib/errors.ts';
import { interactivePageHeaders } from '../../web/content-policy.ts';
import { webhookPath } from './shop.ts';

const urlLimitBytes = 8 * 1024;
const formLimitBytes = 16 * 1024;
/** An order with 200 payments. */
const webhookLimitBytes = 128 * 1024;
const loopbackHost = /^(127(\.\d{1,3}){3}|\[::1\]|localhost)(:\d{1,5})?$/i;

export function addDoor(app: Hono): void {
  app.use(interactivePageHeaders);
  app.use((context, next) => {
    checkRequest(context);
    return next();
  });
  app.use(webhookPath, limitOf(webhookLimitBytes));
  app.on('POST', ['/orders', '/orders/*'], limitOf(formLimitBytes));
}

const limitOf = (maxSize: number) =>
  bodyLimit({
    maxSize,
    onError: () => {
      throw new PaygateError('invalid', `The body is larger than ${maxSize / 1024} KiB`);
    },
  });

/** @throws PaygateError invalid or forbidden */
function checkRequest({ req }: Context): void {
  if (req.url.length > urlLimitBytes) {
    throw new PaygateError('invalid', 'The URL is longer than 8 KiB');
  }
  const host = req.header('Host') ?? '';
  if (!loopbackHost.test(host)) {
    throw new PaygateError('forbidden', 'The shop answers under a loopback name only');
  }
  if (req.method === 'GET' || req.method === 'HEAD' || req.path === webhookPath) return;
  const site = req.header('Sec-Fetch-Site') ?? 'same-origin';
  const isOwn = req.header('Origin')?.toLowerCase() === `http://${host.toLowerCase()}`;
  if (isOwn && site === 'same-origin') return;
  throw new PaygateError('forbidden', 'Only a page of the shop itself may do this');
}
