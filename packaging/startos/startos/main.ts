import { container, database, port, program } from './container';
import { electrumUrls } from './electrum';
import { sdk } from './sdk';

export const main = sdk.setupMain(async ({ effects }) => {
  const paygate = container(effects);
  const health = [program, 'health', '--listen', `127.0.0.1:${port}`];
  return sdk.Daemons.of(effects)
    .addDaemon('paygate', {
      subcontainer: paygate,
      exec: {
        command: [program, 'serve'],
        user: 'root',
        sigtermTimeout: 15_000,
        env: {
          PAYGATE_DB: database,
          PAYGATE_LISTEN: `*:${port}`,
          PAYGATE_PLAIN_HTTP: 'allow',
          // The proxy of StartOS, as the container sees it.
          PAYGATE_TRUSTED_PROXY: await sdk.getOsIp(effects),
          // Over Tor there is no HTTPS; the name of the onion service is its proof.
          PAYGATE_DASHBOARD_PLAIN_HTTP: 'allow',
          PAYGATE_ELECTRUM: await electrumUrls(effects),
        },
      },
      ready: {
        display: 'Dashboard and API',
        gracePeriod: 60_000,
        fn: () =>
          sdk.healthCheck.checkPortListening(effects, port, {
            successMessage: 'paygate answers',
            errorMessage: 'paygate does not answer',
          }),
      },
      requires: [],
    })
    .addHealthCheck('state', {
      ready: {
        display: 'Payments',
        gracePeriod: 60_000,
        fn: () =>
          sdk.healthCheck.runHealthScript([...health, '--strict'], paygate, {
            message: () => 'No warnings',
            errorMessage: 'paygate reports a warning: see its dashboard',
          }),
      },
      requires: ['paygate'],
    });
});
