// What StartOS runs of this package.

import { buildManifest } from '@start9labs/start-sdk';
import { actions } from './actions';
import { createBackup } from './backups';
import { init, uninit } from './init';
import { main } from './main';
import { manifest as sdkManifest } from './manifest';
import { versions } from './versions';

const manifest = buildManifest(versions, sdkManifest);

export { actions, createBackup, init, main, manifest, uninit };
