// The names that entries of an archive may have. Pure. An archive is refused if an entry would be
// unpacked outside its own folder, or over another entry.

import { PaygateError } from '../lib/errors.ts';

const maxNameLength = 1024;

/** @throws PaygateError invalid */
export function refuseArchive(why: string): never {
  throw new PaygateError('invalid', `this archive is refused: ${why}`);
}

const unseen = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** A name for messages: shortened, without characters that a terminal acts on. */
const shown = (name: string): string => JSON.stringify(name.slice(0, 100).replace(unseen, '?'));

/**
 * Parses the name of an entry. The name of a folder ends with a slash.
 * @throws PaygateError invalid for a name that is not UTF-8, or leads out of the folder
 */
export function parseEntryName(raw: Uint8Array): string {
  let name: string;
  try {
    name = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(raw);
  } catch {
    return refuseArchive('an entry has a name that is not UTF-8');
  }
  if (raw.length > maxNameLength) refuseArchive(`an entry has a name of ${raw.length} bytes`);
  if (/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\\]/u.test(name)) {
    refuseArchive(`${shown(name)} has a backslash or characters that do not show`);
  }
  if (/^(\/|[a-z]:)/i.test(name)) refuseArchive(`${shown(name)} is an absolute path`);
  const parts = name.replace(/\/$/, '').split('/');
  if (parts.some((part) => part === '' || part === '.' || part === '..')) {
    refuseArchive(`${shown(name)} leads out of its folder`);
  }
  return name;
}

/** @throws PaygateError invalid when two names stand for one place */
export function refuseClashes(names: readonly string[]): void {
  const places = new Set<string>();
  const files = new Set<string>();
  for (const name of names) {
    const place = name.replace(/\/$/, '').normalize('NFC');
    if (places.has(place)) refuseArchive(`it has two entries named ${shown(place)}`);
    places.add(place);
    if (!name.endsWith('/')) files.add(place);
  }
  for (const place of places) {
    for (let at = place.indexOf('/'); at !== -1; at = place.indexOf('/', at + 1)) {
      const parent = place.slice(0, at);
      if (files.has(parent)) refuseArchive(`${shown(parent)} is a file and a folder in it`);
    }
  }
}
