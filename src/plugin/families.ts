// The families of shop plugins that paygate knows, recognised by the names of an archive's files.
// What a file says is used only for the version, which is a statement of the plugin. Pure.

export const familyTitles = {
  woocommerce: 'WooCommerce',
  givewp: 'GiveWP',
  edd: 'Easy Digital Downloads',
  whmcs: 'WHMCS',
  prestashop: 'PrestaShop',
  opencart: 'OpenCart',
  magento: 'Magento 2',
  fossbilling: 'FOSSBilling',
  medusa: 'Medusa',
};

export type FamilyName = keyof typeof familyTitles;

export interface RecognisedPlugin {
  readonly family: FamilyName | null;
  /** As the plugin states it; null without such a statement. */
  readonly version: string | null;
}

interface FamilyFiles {
  /** Files that together only this family has. */
  readonly files: readonly RegExp[];
  /** The file that states the version, and the text before the version. */
  readonly version: readonly [file: RegExp, before: string];
}

const header = String.raw`^[ \t/*#@]*Version:[ \t]*`;
const json = String.raw`"version"\s*:\s*"`;
const property = String.raw`\$(?:this->)?version\s*=\s*["']`;

/** Files may be at any depth, because some archives have a folder around the plugin. */
const families: Readonly<Record<FamilyName, FamilyFiles>> = {
  woocommerce: {
    files: [/(?:^|\/)blockonomics-woocommerce\.php$/],
    version: [/(?:^|\/)blockonomics-woocommerce\.php$/, header],
  },
  givewp: {
    files: [/(?:^|\/)blockonomics-givewp\.php$/],
    version: [/(?:^|\/)blockonomics-givewp\.php$/, header],
  },
  edd: {
    files: [/(?:^|\/)edd-blockonomics\.php$/],
    version: [/(?:^|\/)edd-blockonomics\.php$/, header],
  },
  whmcs: {
    files: [/(?:^|\/)modules\/gateways\/blockonomics\.php$/],
    version: [/(?:^|\/)gateways\/blockonomics\/blockonomics\.php$/i, property],
  },
  prestashop: {
    files: [/(?:^|\/)blockonomics\.php$/, /(?:^|\/)controllers\/front\/\w+\.php$/],
    version: [/(?:^|\/)blockonomics\.php$/, property],
  },
  opencart: {
    files: [/\/payment\/blockonomics\.php$/, /(?:^|\/)system\/library\/blockonomics\.php$/],
    version: [/(?:^|\/)system\/library\/blockonomics\.php$/, property],
  },
  magento: {
    files: [/(?:^|\/)registration\.php$/, /(?:^|\/)etc\/module\.xml$/],
    version: [/(?:^|\/)composer\.json$/, json],
  },
  fossbilling: {
    files: [/(?:^|\/)Blockonomics\.php$/, /(?:^|\/)module\/manifest\.json$/],
    version: [/(?:^|\/)module\/manifest\.json$/, json],
  },
  medusa: {
    files: [/(?:^|\/)providers\/blockonomics\/index\.[jt]s$/],
    version: [/(?:^|\/)package\.json$/, json],
  },
};

export interface NamedText {
  readonly name: string;
  /** Its first bytes as latin1. */
  readonly head: string;
}

/** No family if the files fit none, or several. */
export function recognise(files: readonly NamedText[]): RecognisedPlugin {
  const names = Object.keys(families) as FamilyName[];
  const [family, ...others] = names.filter((name) =>
    families[name].files.every((each) => files.some((one) => each.test(one.name))),
  );
  if (family === undefined || others.length > 0) return { family: null, version: null };
  return { family, version: versionIn(files, families[family].version) };
}

/** What is missing at the top of an archive for the shop's installer; undefined if nothing is. */
export const missingAtTop = (
  { family }: RecognisedPlugin,
  names: readonly string[],
): string | undefined =>
  family === 'opencart' && !names.some((name) => /^(?:upload\/|install\.json$)/.test(name))
    ? 'upload/'
    : undefined;

/** A file of plugins for OpenCart 4; those for OpenCart 3 have it in `extension/payment/`. */
const openCart4 = /(?:^|\/)(?:admin|catalog)\/controller\/payment\/blockonomics\.php$/;

/**
 * What is wrong with the name of an archive for the shop's installer; undefined if nothing is.
 * @param name without a folder
 */
export function nameError(
  { family }: RecognisedPlugin,
  files: readonly string[],
  name: string,
): string | undefined {
  if (family !== 'opencart') return undefined;
  if (files.some((file) => openCart4.test(file)) && name !== 'blockonomics.ocmod.zip') {
    return "OpenCart 4 names the extension's folder after the archive, and this plugin works in one folder only: name it blockonomics.ocmod.zip";
  }
  if (name.endsWith('.ocmod.zip')) return undefined;
  return 'the installer of this shop accepts only names that end in .ocmod.zip';
}

function versionIn(
  files: readonly NamedText[],
  [place, before]: FamilyFiles['version'],
): string | null {
  // The file closest to the top, because a bundled package has its own.
  const depth = ({ name }: NamedText) => name.split('/').length;
  const [stating] = files
    .filter(({ name }) => place.test(name))
    .toSorted((one, other) => depth(one) - depth(other));
  const stated = new RegExp(String.raw`${before}v?(\d{1,5}(?:\.\d{1,5}){1,3})(?![\d.])`, 'im');
  return stated.exec(stating?.head ?? '')?.[1] ?? null;
}
