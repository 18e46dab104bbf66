import { database, run } from '../container';
import { sdk } from '../sdk';

export const showApiKey = sdk.Action.withoutInput(
  'show-api-key',
  {
    name: 'Show the API key',
    description:
      'The key with which your shop requests addresses. It exists once a store is added.',
    warning: null,
    allowedStatuses: 'any',
    group: null,
    visibility: 'enabled',
  },
  async ({ effects }) => {
    const out = await run(effects, 'key', 'show', '--db', database, '--json');
    const { api_key: value } = JSON.parse(out) as { api_key: string };
    return {
      version: '1',
      title: 'API key',
      message: 'Everybody who has it can request addresses and see payments.',
      result: { type: 'single', value, copyable: true, qr: false, masked: true },
    };
  },
);
