import { actions } from '../actions';
import { chooseServer } from '../actions/choose-server';
import { setPassword } from '../actions/set-password';
import { restoreInit } from '../backups';
import { setDependencies } from '../dependencies';
import { setInterfaces } from '../interfaces';
import { sdk } from '../sdk';
import { versions } from '../versions';

/** What the owner has to do after the installation. */
const firstTasks = sdk.setupOnInit(async (effects, kind) => {
  if (kind !== 'install') return;
  await sdk.action.createOwnTask(effects, chooseServer, 'critical', {
    reason: 'Choose the server that shows paygate the chain',
  });
  await sdk.action.createOwnTask(effects, setPassword, 'important', {
    reason: 'Set the password of the dashboard',
  });
});

export const init = sdk.setupInit(
  restoreInit,
  versions,
  setInterfaces,
  setDependencies,
  actions,
  firstTasks,
);
export const uninit = sdk.setupUninit(versions);
