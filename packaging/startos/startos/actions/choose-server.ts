import { storeFile } from '../fileModels/store';
import { sdk } from '../sdk';

const { InputSpec, Value } = sdk;

const input = InputSpec.of({
  server: Value.select({
    name: 'Electrum server',
    description: 'A server of this machine learns your addresses instead of strangers.',
    values: {
      electrs: 'electrs on this machine',
      fulcrum: 'Fulcrum on this machine',
      public: 'Public servers',
    },
    default: 'electrs',
  }),
});

export const chooseServer = sdk.Action.withInput(
  'choose-server',
  {
    name: 'Choose the Electrum server',
    description: 'Sets the server that shows paygate the chain',
    warning: 'Public servers learn which addresses are yours.',
    allowedStatuses: 'any',
    group: null,
    visibility: 'enabled',
  },
  input,
  async () => {
    const store = await storeFile.read().once();
    return { server: store?.server ?? 'electrs' };
  },
  async ({ effects, input: { server } }) => {
    await storeFile.merge(effects, { server });
    return null;
  },
);
