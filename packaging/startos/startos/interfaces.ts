import { hostId, port } from './container';
import { sdk } from './sdk';

const common = {
  masked: false,
  schemeOverride: null,
  username: null,
  query: {},
};

export const setInterfaces = sdk.setupInterfaces(async ({ effects }) => {
  // StartOS adds HTTPS, and says so in X-Forwarded-Proto.
  const origin = await sdk.MultiHost.of(effects, hostId).bindPort(port, { protocol: 'http' });
  const dashboard = sdk.createInterface(effects, {
    ...common,
    id: 'dashboard',
    name: 'Dashboard',
    description: 'Orders, payments, stores and settings',
    type: 'ui',
    path: '/dashboard',
  });
  const api = sdk.createInterface(effects, {
    ...common,
    id: 'api',
    name: 'API',
    description: 'For your shop, with an API key',
    type: 'api',
    path: '/api',
  });
  return [await origin.export([dashboard, api])];
});
