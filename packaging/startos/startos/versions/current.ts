import { VersionInfo } from '@start9labs/start-sdk';

export const current = VersionInfo.of({
  version: '0.1.0:0',
  releaseNotes: 'The first version.',
  // paygate updates its own database.
  migrations: {},
});
