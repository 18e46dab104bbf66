// What a merchant does after the rewritten archive is written: steps for each family, in the order
// of its screens, with exact commands. Pure.

import { type FamilyName, familyTitles, type RecognisedPlugin } from './families.ts';

/** `ID` stands for the number of the store, which `store add` prints. */
const addStore = `paygate store add --name "My shop" --xpub - --callback-url 'CALLBACK_URL'`;
const addKey = 'paygate key add --store ID --scope payments';
const ignoreReplaceable = 'paygate store set ID --no-rbf-parameter';

const store = [
  'Add a store with exactly this Callback URL. Paste the extended public key of your wallet, and press Ctrl-D; the command prints the number of the store, ID:',
  addStore,
];
const key = ['Make an API key for this store only, and enter it in the plugin:', addKey];
const replaceable = [
  'Let replaceable payments count before they are in a block, because most wallets send such payments:',
  ignoreReplaceable,
];
/** @param name of the setting that is 0 if the shop ships for unconfirmed payments */
const replaceableUnless = (name: string): readonly string[] => [
  `Unless ${name} of the plugin is 0, let replaceable payments count before they are in a block. With 0, the shop would ship for them:`,
  ignoreReplaceable,
];
const test = [
  'Test without bitcoin: place an order, send a test payment to its address, and cancel the order in the shop afterwards. SAT is its amount in satoshis:',
  'paygate callbacks test --addr ADDRESS --value SAT --status 2',
];
const small = [...test, 'Pay a small order yourself.'];
const testSetup = (result: string): string =>
  `Save, and press Test Setup while paygate runs: ${result}.`;
const upload = (output: string): string =>
  `WordPress → Plugins → Add New → Upload Plugin: install ${output}, and activate it.`;

type Steps = (output: string, version: string | null) => readonly string[];

const steps: Readonly<Record<FamilyName, Steps>> = {
  woocommerce: (output, version) => [
    ...(version?.startsWith('3.9.')
      ? ['This version needs WordPress 6.2 or later, whatever its header states.']
      : []),
    `${upload(output)} Leave its wizard.`,
    'WooCommerce → Settings → Payments → Blockonomics (before 3.7.4: Settings → Blockonomics): copy the Callback URL from the bottom of the page.',
    ...store,
    ...replaceableUnless('Network Confirmations'),
    ...key,
    testSetup('it shows "BTC ✅"'),
    ...small,
  ],
  givewp: (output) => [
    upload(output),
    'Donations → Settings → Payment Gateways → Blockonomics: copy the Callback URL.',
    ...store,
    ...replaceable,
    ...key,
    'Save. This plugin has no test button.',
    ...test,
    'Donate a small amount yourself.',
  ],
  edd: (output) => [
    'This plugin needs Easy Digital Downloads 3.2: from 3.3 on its settings are empty, and with 3.6 WordPress answers HTTP 500.',
    upload(output),
    'Downloads → Settings → Payment Gateways → Blockonomics: copy the Callback URL. Never press the icon beside it, which makes another URL.',
    ...store,
    ...key,
    'Leave Network Confirmations at 2 or 1: with 0, the shop delivers for replaceable payments.',
    testSetup('it shows "Congrats ! Setup is all done"'),
    ...small,
  ],
  whmcs: (output) => [
    `Unpack ${output}, and upload its folder modules into the folder of WHMCS.`,
    'Setup → Payments → Payment Gateways: activate Blockonomics. Copy the Callback URL from Advanced Settings.',
    ...store,
    ...key,
    testSetup('it shows one green row for BTC'),
    ...small,
  ],
  prestashop: (output) => [
    `Modules → Module Manager → Upload a module: install ${output}. Open Configure, and copy the Callback URL.`,
    ...store,
    'In a multistore, each shop has its own Callback URL: add a store for each.',
    ...key,
    testSetup('it shows no error for Bitcoin'),
    'Never press Upgrade for this module: it would install the old host.',
    ...small,
  ],
  opencart: (output, version) => [
    ...(version?.startsWith('4.')
      ? ['This version needs OpenCart 4.0: in 4.1 its pages are blank, because a class is gone.']
      : []),
    `Extensions → Installer: upload ${output}.`,
    'Extensions → Extensions → Payments → Blockonomics: install it, open it, and copy the Callback URL.',
    ...store,
    'Ignore small payments, because each payment to the address of a paid order changes its state. Choose a minimum in satoshis below your cheapest order:',
    'paygate store set ID --minimum 10000',
    ...key,
    testSetup('it shows no error'),
    ...small,
  ],
  magento: (output) => [
    `Unpack ${output} to app/code/Blockonomics/Merchant, and enable the module in the folder of Magento:`,
    'php bin/magento module:enable Blockonomics_Merchant --clear-static-content',
    'php bin/magento setup:upgrade',
    'Stores → Configuration → Sales → Payment Methods → Bitcoin - Blockonomics: copy the Callback URL.',
    ...store,
    ...key,
    'Save. This plugin has no test button.',
    ...small,
  ],
  fossbilling: (output) => [
    `Unpack ${output} into a new folder library/Payment/Adapter/Blockonomics of FOSSBilling.`,
    'System → Payment gateways → New payment gateway: install Blockonomics, open it, and copy the Callback URL.',
    ...store,
    ...key,
    testSetup('it shows BTC as working'),
    'Never update it from the extension directory: that would install the old host.',
    ...small,
  ],
  medusa: () => [
    'Medusa needs no rewritten package: the option baseUrl of its provider names this paygate.',
    'Choose a secret that begins with MEDUSA_, and set the options callbackSecret and matchCallback to it. The Callback URL is https://SHOP/hooks/blockonomics/blockonomics_PROVIDER_ID?secret=SECRET.',
    ...store,
    ...replaceableUnless('the option confirmations'),
    ...key,
    'Restart Medusa. It has no test button.',
    ...small,
  ],
};

/** The steps for a plugin that fits no family. */
const anyPlugin = (output: string): readonly string[] => [
  `Install ${output} in your shop, and copy the Callback URL that the plugin shows.`,
  ...store,
  ...key,
  "Save, and press the plugin's test button while paygate runs.",
  ...small,
];

const unfinished =
  'Change the places under LOOK AT THIS by hand, and pack the archive again under the same name.';

/**
 * The next steps, each a sentence or a command. A sentence that ends with a colon introduces the
 * commands behind it.
 * @param look the number of places that need a change by hand
 */
export function nextSteps(
  { family, version }: RecognisedPlugin,
  output: string,
  look = 0,
): string[] {
  const all = family === null ? anyPlugin(output) : steps[family](output, version);
  return look > 0 ? [unfinished, ...all] : [...all];
}

export const pageOf = ({ family }: RecognisedPlugin): string =>
  family === null ? 'docs/plugins.md' : `docs/shops/${family}.md`;

export const titleOf = ({ family, version }: RecognisedPlugin): string =>
  family === null
    ? 'for a plugin of no known family'
    : `for ${familyTitles[family]}${version === null ? '' : ` (plugin ${version})`}`;
