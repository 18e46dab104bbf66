// Sets the switch that keeps a shop from updating a plugin. An update by its author calls the old
// host, and sends it paygate's API key. Only WordPress has such a switch: the header field
// `Update URI` of a plugin's main file with the value `false` (WordPress 5.8). Pure.

import type { MentionChange } from './rewrite.ts';

/** WordPress reads headers in this many bytes of a file, in its own folder or one below. */
const headerBytes = 8192;
const maxDepth = 2;
const switchedOff = 'Update URI: false';

/** A header field as WordPress reads it: the first such row, whatever is around it. */
const field = (name: string): RegExp =>
  new RegExp(String.raw`^(?<lead>(?:[ \t]*<\?php)?[ \t/*#@]*)${name}:(?<value>[^\r\n]*)`, 'im');
const pluginName = field('Plugin Name');
const updateUri = field('Update URI');
/** The end of a comment behind a value. */
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
  return present === null ? withField(text, named) : withValue(text, present);
}

function withValue(text: string, { index, 0: row, groups }: RegExpExecArray): SwitchResult {
  const given = groups?.value ?? '';
  const value = given.replace(commentEnd, '');
  if (value.trim() === 'false') return { text, change: undefined };
  const start = index + row.length - given.length;
  const end = start + value.length;
  return {
    text: `${text.slice(0, start)} false${text.slice(end)}`,
    change: {
      line: lineOf(text, start),
      before: `Update URI:${value}`,
      after: switchedOff,
    },
  };
}

/** Adds the field as a row of its own, behind the row of the name and in the same comment. */
function withField(text: string, { index, 0: row, groups }: RegExpExecArray): SwitchResult {
  const { lead = '', value = '' } = groups ?? {};
  const [ending = ''] = commentEnd.exec(value) ?? [];
  const at = index + row.length - ending.length;
  const [newline = '\n'] = /\r\n|\r|\n/.exec(text.slice(index)) ?? [];
  const indent = lead.includes('/*') ? ' * ' : lead.replace(/^[ \t]*<\?php[ \t]*/i, '');
  return {
    text: `${text.slice(0, at)}${newline}${indent}${switchedOff}${text.slice(at)}`,
    change: { line: lineOf(text, at), before: '', after: switchedOff },
  };
}

/** The row of a position, from 1. */
const lineOf = (text: string, at: number): number => text.slice(0, at).split(/\r\n|\r|\n/).length;
