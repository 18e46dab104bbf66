// Composes the dashboard: all pages behind one guard, assets, limits and the event stream.

import { type Context, Hono } from 'hono';
import type { Rate } from '../domain/access/rate-limit.ts';
import { iconPath } from '../web/html-page.ts';
import { createRefusalLog } from '../web/limits/refused-requests.ts';
import { createLimits } from '../web/limits/request-limits.ts';
import { createAssets, sendIcon } from './assets.ts';
import { createDailySums } from './daily-sums.ts';
import { createChallenges } from './guard/challenges.ts';
import { createGuardedPages, isOwner } from './guard/guard.ts';
import { createPasswords } from './guard/password.ts';
import { base, type DashboardOptions, type Page } from './page.ts';
import { createPageEvents } from './page-events.ts';
import { accountPage } from './pages/account/account-page.tsx';
import { enterPage } from './pages/account/enter-page.tsx';
import { passkeyPage } from './pages/account/passkeys-section.tsx';
import { signInPage, signOutPage } from './pages/account/sign-in-page.tsx';
import { welcomePage } from './pages/account/welcome-page.tsx';
import { callbackPage, callbacksPage } from './pages/deliveries/callbacks-page.tsx';
import { eventPage, eventsPage } from './pages/deliveries/events-page.tsx';
import { rehearsalPage } from './pages/deliveries/rehearsal-page.tsx';
import { testPaymentPage } from './pages/deliveries/test-payment-page.tsx';
import {
  addressesExportPage,
  callbacksExportPage,
  eventsExportPage,
  labelsExportPage,
  ordersExportPage,
} from './pages/list-exports.ts';
import { addressPage } from './pages/sales/address-page.tsx';
import { addressesPage } from './pages/sales/addresses-page.tsx';
import { decidePage } from './pages/sales/decide-page.tsx';
import { linkPage } from './pages/sales/link-page.tsx';
import { printedLinkPage } from './pages/sales/link-poster.tsx';
import { linksPage, newLinkPage } from './pages/sales/links-page.tsx';
import { orderPage } from './pages/sales/one-order-page.tsx';
import { acceptOrderPage, cancelOrderPage } from './pages/sales/order-decision-pages.tsx';
import { newOrderPage } from './pages/sales/order-new-page.tsx';
import { ordersPage } from './pages/sales/orders-page.tsx';
import { overviewPage } from './pages/sales/overview-page.tsx';
import { paymentPage } from './pages/sales/payment-page.tsx';
import { paymentsExportPage } from './pages/sales/payments-export.ts';
import { paymentsPage } from './pages/sales/payments-page.tsx';
import { ratesPage } from './pages/sales/rates-page.tsx';
import { refundPage } from './pages/sales/refund-page.tsx';
import { newTillPage, tillPage, tillsPage } from './pages/sales/tills-page.tsx';
import { auditPage } from './pages/settings/audit-page.tsx';
import { backupsPage } from './pages/settings/backups-page.tsx';
import { notificationsPage } from './pages/settings/notifications-page.tsx';
import { peoplePage } from './pages/settings/people-page.tsx';
import { serversPage } from './pages/settings/servers-page.tsx';
import { settingsPage } from './pages/settings/settings-page.tsx';
import { zonePage } from './pages/settings/zone-page.tsx';
import { authorizeBase, authorizePages } from './pages/stores/authorize-page.tsx';
import {
  removeStorePage,
  restoreStorePage,
  storeDangerPage,
} from './pages/stores/store-danger-page.tsx';
import { storeKeysPage } from './pages/stores/store-keys-page.tsx';
import { newStorePage } from './pages/stores/store-new-page.tsx';
import { storeNotificationsPage } from './pages/stores/store-notifications-page.tsx';
import { storePage } from './pages/stores/store-page.tsx';
import { storePlatformPage } from './pages/stores/store-platform-page.tsx';
import { storePluginPage } from './pages/stores/store-plugin-page.tsx';
import { storeReadyPage } from './pages/stores/store-ready-page.tsx';
import { replaceSecretPage } from './pages/stores/store-secret-page.tsx';
import { storeSettingsPages } from './pages/stores/store-settings-pages.tsx';
import { newWalletPage, storeWalletPage } from './pages/stores/store-wallet-page.tsx';
import { replaceKeyPage, storesPage } from './pages/stores/stores-page.tsx';

export interface Dashboard {
  readonly app: Hono;
  /** Ends all event streams. */
  stop(): void;
  /** Whether a request for another route has a session of the owner. */
  isOwner(context: Context): boolean;
}

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
  decidePage,
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
  tillsPage,
  newTillPage,
  tillPage,
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
  storePlatformPage,
  storeReadyPage,
  rehearsalPage,
  storeDangerPage,
  storeNotificationsPage,
  removeStorePage,
  restoreStorePage,
  settingsPage,
  accountPage,
  zonePage,
  passkeyPage,
  notificationsPage,
  peoplePage,
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
    dailySums: createDailySums(options.records, world),
    challenges: createChallenges(world),
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
  app.route(authorizeBase, createGuardedPages(parts, authorizePages));
  return { app, stop: events.stop, isOwner: (context) => isOwner(parts, context) };
}
