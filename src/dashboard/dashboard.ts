// The dashboard as the composition root mounts it: every page there is, behind its door.

import { type Context, Hono } from 'hono';
import type { Rate } from '../domain/rate.ts';
import { createLimits } from '../http/limits.ts';
import { iconPath } from '../http/page.ts';
import { createAssets, sendIcon } from './assets.ts';
import { createDoor, isSignedIn } from './door.ts';
import { createLive } from './live.ts';
import { addressPage } from './pages/address.tsx';
import { addressesPage } from './pages/addresses.tsx';
import { auditPage } from './pages/audit.tsx';
import { backupsPage } from './pages/backups.tsx';
import { callbackPage } from './pages/callback.tsx';
import { callbacksPage } from './pages/callbacks.tsx';
import { enterPage } from './pages/enter.tsx';
import { overviewPage } from './pages/overview.tsx';
import { paymentPage } from './pages/payment.tsx';
import { paymentsPage } from './pages/payments.tsx';
import { paymentsExportPage } from './pages/payments-export.ts';
import { ratesPage } from './pages/rates.tsx';
import { serversPage } from './pages/servers.tsx';
import { settingsPage } from './pages/settings.tsx';
import { signInPage, signOutPage } from './pages/sign-in.tsx';
import { storePage } from './pages/store.tsx';
import { newStorePage } from './pages/store-new.tsx';
import { removeStorePage } from './pages/store-remove.tsx';
import { storeWalletPage } from './pages/store-wallet.tsx';
import { storesPage } from './pages/stores.tsx';
import { welcomePage } from './pages/welcome.tsx';
import { createPasswords } from './password.ts';
import { createReceived } from './received.ts';
import { base, type DashboardOptions, type Page } from './visit.ts';

export interface Dashboard {
  readonly app: Hono;
  /** Ends what browsers still listen to. */
  stop(): void;
  /** Whether a request comes from somebody who is signed in. */
  isSignedIn(context: Context): boolean;
}

/** Those that are the same for every dashboard. */
export const pages: readonly Page[] = [
  overviewPage,
  welcomePage,
  signInPage,
  signOutPage,
  enterPage,
  paymentsPage,
  paymentsExportPage,
  paymentPage,
  callbacksPage,
  callbackPage,
  addressesPage,
  addressPage,
  serversPage,
  storesPage,
  newStorePage,
  storePage,
  storeWalletPage,
  removeStorePage,
  settingsPage,
  auditPage,
  ratesPage,
  backupsPage,
];

/** Passwords that one line may try. */
const passwordRate: Rate = { perMinute: 10, burst: 10 };
/** Codes of an authenticator app, of which three in a million are right: none is found within years. */
const codeRate: Rate = { perMinute: 0.2, burst: 5 };

export function createDashboard(options: DashboardOptions): Dashboard {
  const { world } = options;
  const parts = {
    ...options,
    passwords: createPasswords((length) => world.randomBytes(length)),
    received: createReceived(options.store.paymentDesk, world),
    limits: createLimits({ password: passwordRate, code: codeRate }, () => world.monotonic()),
  };
  const live = createLive();
  const app = new Hono();
  app.get('/', (context) => context.redirect(base, 302));
  app.get(iconPath, sendIcon);
  app.route(base, createAssets());
  app.route(base, createDoor(parts, [...pages, ...options.extraPages, live.page]));
  return { app, stop: live.stop, isSignedIn: (context) => isSignedIn(parts, context) };
}
