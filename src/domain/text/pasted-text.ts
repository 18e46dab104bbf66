// Text that people paste: characters that do not show, and host names in their own letters.
// Sources: RFC 5890 (IDNA), UTS 46 by the URL Standard.

/** White space, control and format characters, and other characters that do not show. */
export const invisible = /[\s\p{Z}\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\u2800]/u;
const allInvisible = new RegExp(invisible, 'gu');

/** Without invisible characters at its ends. Those inside may belong to it: some join emoji. */
export function trimInvisible(text: string): string {
  const characters = [...text];
  const start = characters.findIndex((each) => !invisible.test(each));
  const end = characters.findLastIndex((each) => !invisible.test(each));
  return start === -1 ? '' : characters.slice(start, end + 1).join('');
}

/** Without any invisible character: an address, an id, a code. */
export const withoutInvisible = (text: string): string => text.replace(allInvisible, '');

/** The address of a pasted text or `bitcoin:` link, for a parser to judge. */
export const pastedAddress = (text: string): string => {
  const [address = ''] = withoutInvisible(text)
    .replace(/^bitcoin:(\/\/)?/i, '')
    .split('?');
  return address;
};

/** Format characters, and others that take no place. */
const zeroWidth = /[\p{Cf}\p{Default_Ignorable_Code_Point}]/gu;

/**
 * A password or name without characters of no width. Other spaces become those of a keyboard, and
 * go at the ends: pages show app passwords in groups with no-break spaces.
 * @param text short, because its ends are searched slowly
 */
export const withKeyboardSpaces = (text: string): string =>
  text
    .replace(zeroWidth, '')
    .replace(/^(?:(?! )\p{Zs})+|(?:(?! )\p{Zs})+$/gu, '')
    .replace(/\p{Zs}/gu, ' ');

/** The host name as DNS has it: `xn--…` for letters beyond ASCII. Unchanged if it is none. */
export function asciiHost(name: string): string {
  const isName = /^[\p{L}\p{M}\p{N}.\u3002\uff0e\uff61-]+$/u.test(name);
  if (!isName || /^[\0-\x7f]*$/.test(name)) return name;
  return URL.parse(`https://${name}`)?.hostname ?? name;
}
