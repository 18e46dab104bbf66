import { sdk } from '../sdk';
import { chooseServer } from './choose-server';
import { setPassword } from './set-password';
import { showApiKey } from './show-api-key';

export const actions = sdk.Actions.of()
  .addAction(chooseServer)
  .addAction(setPassword)
  .addAction(showApiKey);
