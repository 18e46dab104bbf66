import { chosenServer } from './electrum';
import { sdk } from './sdk';

export const setDependencies = sdk.setupDependencies(async ({ effects }) => {
  const server = await chosenServer(effects);
  if (server === 'electrs') {
    return {
      electrs: { kind: 'running', versionRange: '>=0.11.1:0', healthChecks: ['electrs', 'sync'] },
    };
  }
  if (server === 'fulcrum') {
    return {
      fulcrum: {
        kind: 'running',
        versionRange: '>=2.1.1:0',
        healthChecks: ['primary', 'sync-progress'],
      },
    };
  }
  return {};
});
