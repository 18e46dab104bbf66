import { database, run } from '../container';
import { sdk } from '../sdk';

const { InputSpec, Value } = sdk;

const input = InputSpec.of({
  address: Value.text({
    name: 'Address of the dashboard',
    description: 'As you open it, such as https://paygate.local',
    required: true,
    default: null,
    patterns: [
      { regex: '^https?://[^/]+', description: 'A URL that begins with https:// or http://' },
    ],
  }),
});

export const setPassword = sdk.Action.withInput(
  'set-password',
  {
    name: 'Set the password',
    description: 'Makes a link that sets the password of the dashboard, once, within 15 minutes',
    warning: null,
    allowedStatuses: 'only-running',
    group: null,
    visibility: 'enabled',
  },
  input,
  async () => null,
  async ({ effects, input: { address } }) => {
    const { origin } = new URL(address);
    const out = await run(
      effects,
      ...['admin', 'link', '--db', database, '--public-url', origin, '--json'],
    );
    const { url } = JSON.parse(out) as { url: string };
    return {
      version: '1',
      title: 'Link that sets the password',
      message: 'Open it within 15 minutes. It works once.',
      result: { type: 'single', value: url, copyable: true, qr: false, masked: true },
    };
  },
);
