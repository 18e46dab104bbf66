// Command lines for a person to copy.

/** As a shell takes it for one word. */
export const quoteForShell = (text: string): string =>
  /^[\w./:@%+=,-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
