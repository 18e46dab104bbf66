import { setupManifest } from '@start9labs/start-sdk';

const electrum = (name: string) => ({
  description: `${name} shows paygate the chain, so no other server learns your addresses.`,
  optional: true,
  s9pk: null,
});

export const manifest = setupManifest({
  id: 'paygate',
  title: 'paygate',
  license: 'MIT',
  packageRepo: 'https://paygate.example',
  upstreamRepo: 'https://paygate.example',
  marketingUrl: 'https://paygate.example',
  donationUrl: null,
  description: {
    short: 'Bitcoin payments for your shop, into your own wallet',
    long:
      'paygate gives each order of your shop a fresh address of your own wallet. It verifies the ' +
      'confirmations of each payment, and calls your shop until the shop has received the result. ' +
      'It knows your extended public key only, and has no key that can spend.',
  },
  volumes: ['main', 'startos'],
  images: {
    main: {
      source: { dockerTag: 'registry.example/paygate:0.1.0' },
      arch: ['x86_64', 'aarch64'],
    },
  },
  hardwareRequirements: { ram: 512 },
  dependencies: { electrs: electrum('electrs'), fulcrum: electrum('Fulcrum') },
});
