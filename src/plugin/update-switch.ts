// Sets the switch that keeps a shop from updating a plugin. An update by its author calls the old
// host, and sends it paygate's API key. Only WordPress has such a switch: the header field
// `Update URI` of a plugin's main file with the value `false` (WordPress 5.8). Pure.

import type { MentionChange } from './rewrite.ts';

/** WordPress reads headers in this many bytes of a file, in its own folder or one below. */
const headerBytes = 8192;
const maxDepth = 2;
const after = 'Update URI: false';

/** A header field as WordPress reads it: the first such row, whatever is around it. */
const field = (name: string): RegExp =>
  new RegExp(String.raw`^((?:[ \t]*<\?php)?[ \t/*#@]*)${name}:([^\r\n]*)`, 'im');
const [pluginName, updateUri] = [field('Plugin Name'), field('Update URI')];
const commentEnd = /\s*(?:\*\/|\?>).*$/;

export interface SwitchResult {
  readonly text: string;
  /** Undefined if the switch was set already. */
  readonly change: MentionChange | undefined;
}

/**
 * Sets the switch in a file of an archive.
 * @param text the file's bytes as latin1
 * @returns undefined if the file is not the main file of a WordPress plugin
 */
export function switchUpdatesOff(text: string, name: string): SwitchResult | undefined {
  if (!/\.php$/i.test(name) || name.split('/').length > maxDepth) return undefined;
  const header = text.slice(0, headerBytes);
  const named = pluginName.exec(header);
  if (named === null) return undefined;
  const present = updateUri.exec(header);
  const { index, 0: row, 1: lead = '', 2: value = '' } = present ?? named;
  const own = value.replace(commentEnd, '');
  const end = index + row.length - value.length + own.length;
  const line = text.slice(0, end).split(/\r\n|\r|\n/).length;
  if (present !== null) {
    if (own.trim() === 'false') return { text, change: undefined };
    const before = `Update URI:${own}`;
    return {
      text: `${text.slice(0, end - own.length)} false${text.slice(end)}`,
      change: { line, before, after },
    };
  }
  // A row of its own, behind the row of the name and in the same comment.
  const [newline = '\n'] = /\r\n|\r|\n/.exec(text.slice(index)) ?? [];
  const indent = lead.includes('/*') ? ' * ' : lead.replace(/^[ \t]*<\?php[ \t]*/i, '');
  return {
    text: `${text.slice(0, end)}${newline}${indent}${after}${text.slice(end)}`,
    change: { line, before: '', after },
  };
}
