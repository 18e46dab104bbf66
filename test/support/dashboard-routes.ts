import { createDashboard } from '../../src/dashboard/dashboard.ts';
import type { DashboardOptions } from '../../src/dashboard/page.ts';
import type { TestApp } from './app.ts';
import { createTestWorld } from './world.ts';

/** Every path that the dashboard answers, from its router. */
export const dashboardRoutes = (app: TestApp): Promise<string[]> =>
  app.withStore(async (records) => {
    const options = {
      ...{ world: createTestWorld(), records, extraPages: [] },
      feed: { listenToAll: () => () => undefined },
    } as unknown as DashboardOptions;
    const { app: router, stop } = createDashboard(options);
    stop();
    return [...new Set(router.routes.map(({ path }) => path.replace(/(?<=.)\/$/, '')))];
  });
