// A notice as a mail, and as JSON for a webhook. A mail has the same content as text and as HTML.
// It loads nothing from the network and has no tracking.

import type { Decision, Notice } from '../domain/delivery/notice.ts';
import { isRightToLeft, type Language } from '../domain/text/language.ts';
import { formatMinute } from '../domain/text/time-zone.ts';
import type { Mail } from './mail-connection.ts';

/** A notice of the database, or a test. */
export interface NoticeToSend {
  readonly notice: Notice;
  /** `ntf_…`: the same in each attempt. */
  readonly publicId: string;
  /** When its cause happened, epoch milliseconds. */
  readonly createdAt: number;
}

const merchant = { footer: 'Sent by your paygate.', language: 'en' } as const;

/** What all mails have. */
export interface MailFrame {
  /** Begins the link to the dashboard; no link without it. */
  readonly publicUrl: string | undefined;
  /** The zone of the times. */
  readonly zone: string;
  /** A token that accepts the order of a decision; undefined if none can be made. */
  readonly tokenOf: (decision: Decision) => string | undefined;
}

export function mailOf(
  { notice, publicId, createdAt }: NoticeToSend,
  addresses: { readonly from: string; readonly to: string },
  { publicUrl, zone, tokenOf }: MailFrame,
): Mail {
  const { title, customer } = notice;
  const time = `Time: ${formatMinute(createdAt, zone)}`;
  const lines = customer ? notice.lines : [...notice.lines, time];
  const { footer, language } = customer ?? merchant;
  const link = linkOf(notice, publicUrl);
  const decisions = (notice.decisions ?? []).map((decision): LinkedRow => {
    const token = tokenOf(decision);
    const path = token === undefined ? decision.path : `${decisionPath}?token=${token}`;
    return { text: decision.text, link: linkOf({ path }, publicUrl) };
  });
  const domain = addresses.from.split('@')[1] ?? 'paygate';
  return {
    // Lets a mail server drop a mail that is sent twice.
    messageId: `<${publicId}@${domain}>`,
    date: new Date(createdAt),
    to: addresses.to,
    fromName: customer?.shop ?? 'paygate',
    subject: title,
    text: [
      ...lines,
      ...decisions.flatMap(({ text, link: own }) => [
        '',
        text,
        ...(own === undefined ? [] : [own]),
      ]),
      ...(link === undefined ? [] : ['', link]),
      ...['', '-- ', footer, ''],
    ].join('\n'),
    html: htmlOf({
      title,
      rows: [...lines.map((text) => ({ text })), ...decisions, { text: '', link }],
      footer,
      language,
    }),
  };
}

/** A row of a mail, with its link below it. */
interface LinkedRow {
  readonly text: string;
  readonly link?: string | undefined;
}

/** The page of a decision, below the public URL. */
export const decisionPath = '/dashboard/decide';

interface HtmlParts {
  readonly title: string;
  readonly rows: readonly LinkedRow[];
  readonly footer: string;
  readonly language: Language;
}

const htmlOf = ({ title, rows, footer, language }: HtmlParts): string =>
  [
    '<!doctype html>',
    `<html lang="${language}"${isRightToLeft(language) ? ' dir="rtl"' : ''}>`,
    `<head><meta charset="utf-8"><title>${escaped(title)}</title></head>`,
    '<body style="font-family: sans-serif; line-height: 1.5">',
    `<p><strong>${escaped(title)}</strong></p>`,
    ...rows.flatMap(({ text, link }) => [
      ...(text === '' ? [] : [`<p>${escaped(text)}</p>`]),
      ...(link === undefined ? [] : [`<p><a href="${escaped(link)}">${escaped(link)}</a></p>`]),
    ]),
    `<p><small>${escaped(footer)}</small></p>`,
    '</body>',
    '</html>',
    '',
  ].join('\n');

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

const escaped = (text: string): string =>
  text.replace(/[&<>"']/g, (found) => entities[found] ?? '');

const linkOf = (
  { path }: Pick<Notice, 'path'>,
  publicUrl: string | undefined,
): string | undefined => (publicUrl === undefined ? undefined : publicUrl + path);

/**
 * The body of the request to a webhook. Chat servers show `text`; ntfy takes `title` and `text` by
 * a template.
 */
export function webhookBodyOf(
  { notice, createdAt }: NoticeToSend,
  publicUrl: string | undefined,
): string {
  const { type, title, lines, data } = notice;
  const timestamp = new Date(createdAt).toISOString().replace(/\.\d+Z$/, 'Z');
  const url = linkOf(notice, publicUrl);
  const text = [title, ...lines].join('\n');
  return JSON.stringify({ type, timestamp, title, text, ...(url && { url }), data });
}
