// Composes the dashboard: all pages behind one guard, assets, limits and the event stream.

import { type Context, Hono } from 'hono';
import type { Rate } from '../domain/rate-limit.ts';
import { iconPath } from '../web/html-page.ts';
import { createRefusalLog } from '../web/refused-requests.ts';
import { createLimits } from '../web/request-limits.ts';
import { createAssets, sendIcon } from './assets.ts';
import { createDailySums } from './daily-sums.ts';
import { createGuardedPages, isSignedIn } from './guard.ts';
import { base, type DashboardOptions, type Page } from './page.ts';
import { createPageEvents } from './page-events.ts';
import { accountPage } from './pages/account-page.tsx';
import { addressPage } from './pages/address-page.tsx';
import { addressesPage } from './pages/addresses-page.tsx';
import { auditPage } from './pages/audit-page.tsx';
import { backupsPage } from './pages/backups-page.tsx';
import { callbackPage } from './pages/callback-page.tsx';
import { callbacksPage } from './pages/callbacks-page.tsx';
import { enterPage } from './pages/enter-page.tsx';
import { eventPage, eventsPage } from './pages/events-page.tsx';
import { linkPage, printedLinkPage } from './pages/link-page.tsx';
import { linksPage, newLinkPage } from './pages/links-page.tsx';
import {
  addressesExportPage,
  callbacksExportPage,
  eventsExportPage,
  labelsExportPage,
  ordersExportPage,
} from './pages/list-exports.ts';
import { notificationsPage } from './pages/notifications-page.tsx';
import { orderPage } from './pages/one-order-page.tsx';
import { acceptOrderPage, cancelOrderPage } from './pages/order-decision-pages.tsx';
import { newOrderPage } from './pages/order-new-page.tsx';
import { ordersPage } from './pages/orders-page.tsx';
import { overviewPage } from './pages/overview-page.tsx';
import { passkeyPage } from './pages/passkey-page.tsx';
import { paymentPage } from './pages/payment-page.tsx';
import { paymentsExportPage } from './pages/payments-export.ts';
import { paymentsPage } from './pages/payments-page.tsx';
import { ratesPage } from './pages/rates-page.tsx';
import { refundPage } from './pages/refund-page.tsx';
import { serversPage } from './pages/servers-page.tsx';
import { settingsPage } from './pages/settings-page.tsx';
import { signInPage, signOutPage } from './pages/sign-in-page.tsx';
import { removeStorePage, restoreStorePage, storeDangerPage } from './pages/store-danger-page.tsx';
import { storeKeysPage } from './pages/store-keys-page.tsx';
import { newStorePage } from './pages/store-new-page.tsx';
import { storeNotificationsPage } from './pages/store-notifications-page.tsx';
import { storePage } from './pages/store-page.tsx';
import { storePluginPage } from './pages/store-plugin-page.tsx';
import { storeReadyPage } from './pages/store-ready-page.tsx';
import { replaceSecretPage } from './pages/store-secret-page.tsx';
import { storeSettingsPages } from './pages/store-settings-pages.tsx';
import { newWalletPage, storeWalletPage } from './pages/store-wallet-page.tsx';
import { replaceKeyPage, storesPage } from './pages/stores-page.tsx';
import { testPaymentPage } from './pages/test-payment-page.tsx';
import { welcomePage } from './pages/welcome-page.tsx';
import { createPasskeyChallenges } from './passkey-challenge.ts';
import { createPasswords } from './password.ts';

export interface Dashboard {
  readonly app: Hono;
  /** Ends all event streams. */
  stop(): void;
  /** Whether the request has a valid session. */
  isSignedIn(context: Context): boolean;
}

/** The pages of every dashboard. */
export const pages: readonly Page[] = [
  overviewPage,
  welcomePage,
  signInPage,
  signOutPage,
  enterPage,
  ordersPage,
  labelsExportPage,
  ordersExportPage,
  newOrderPage,
  orderPage,
  acceptOrderPage,
  cancelOrderPage,
  refundPage,
  paymentsPage,
  paymentsExportPage,
  paymentPage,
  callbacksPage,
  callbacksExportPage,
  callbackPage,
  eventsPage,
  eventsExportPage,
  eventPage,
  addressesPage,
  addressesExportPage,
  addressPage,
  testPaymentPage,
  linksPage,
  newLinkPage,
  linkPage,
  printedLinkPage,
  serversPage,
  storesPage,
  newStorePage,
  replaceKeyPage,
  storePage,
  ...storeSettingsPages,
  storeWalletPage,
  newWalletPage,
  storeKeysPage,
  replaceSecretPage,
  storePluginPage,
  storeReadyPage,
  storeDangerPage,
  storeNotificationsPage,
  removeStorePage,
  restoreStorePage,
  settingsPage,
  accountPage,
  passkeyPage,
  notificationsPage,
  auditPage,
  ratesPage,
  backupsPage,
];

/** Attempts of one network prefix with a password; the same with a passkey. */
const passwordRate: Rate = { perMinute: 10, burst: 10 };
/** Attempts with a code. Three codes in a million are valid, so an attack takes years. */
const codeRate: Rate = { perMinute: 0.2, burst: 5 };

export function createDashboard(options: DashboardOptions): Dashboard {
  const { world } = options;
  const parts = {
    ...options,
    refusedSignIns: createRefusalLog(world.log, () => world.monotonic(), 'sign-in refused'),
    startedAt: world.now(),
    passwords: createPasswords((length) => world.randomBytes(length)),
    dailySums: createDailySums(options.store, world),
    passkeyChallenges: createPasskeyChallenges(world),
    limits: createLimits({ password: passwordRate, code: codeRate, passkey: passwordRate }, () =>
      world.monotonic(),
    ),
  };
  const events = createPageEvents(parts);
  const app = new Hono();
  app.get('/', (context) => context.redirect(base, 302));
  app.get(iconPath, (context) => {
    options.limitVisit(context, 'file');
    return sendIcon(context);
  });
  app.route(base, createAssets(options.limitVisit));
  app.route(base, createGuardedPages(parts, [...pages, ...options.extraPages, events.page]));
  return { app, stop: events.stop, isSignedIn: (context) => isSignedIn(parts, context) };
}
