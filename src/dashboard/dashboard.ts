// The dashboard as the composition root mounts it: every page there is, behind its door.

import { Hono } from 'hono';
import type { Rate } from '../domain/rate.ts';
import { createLimits } from '../http/limits.ts';
import { createAssets } from './assets.ts';
import { createDoor } from './door.ts';
import { createLive } from './live.ts';
import { auditPage } from './pages/audit.tsx';
import { enterPage } from './pages/enter.tsx';
import { overviewPage } from './pages/overview.tsx';
import { settingsPage } from './pages/settings.tsx';
import { signInPage, signOutPage } from './pages/sign-in.tsx';
import { storePage } from './pages/store.tsx';
import { newStorePage } from './pages/store-new.tsx';
import { storeWalletPage } from './pages/store-wallet.tsx';
import { storesPage } from './pages/stores.tsx';
import { createPasswords } from './password.ts';
import { base, type DashboardOptions, type Page } from './visit.ts';

export interface Dashboard {
  readonly app: Hono;
  /** Ends what browsers still listen to. */
  stop(): void;
}

/** Those that are the same for every dashboard. */
export const pages: readonly Page[] = [
  overviewPage,
  signInPage,
  signOutPage,
  enterPage,
  storesPage,
  newStorePage,
  storePage,
  storeWalletPage,
  settingsPage,
  auditPage,
];

/** Passwords that one client may try. */
const passwordRate: Rate = { perMinute: 10, burst: 10 };

export function createDashboard(options: DashboardOptions): Dashboard {
  const { world } = options;
  const parts = {
    ...options,
    passwords: createPasswords((length) => world.randomBytes(length)),
    limits: createLimits({ password: passwordRate }, () => world.monotonic()),
  };
  const live = createLive();
  const app = new Hono();
  app.get('/', (context) => context.redirect(base, 302));
  app.route(base, createAssets());
  app.route(base, createDoor(parts, [...pages, live.page]));
  return { app, stop: live.stop };
}
