// An event stream as a client reads it.

import type { TestApp } from './app.ts';

export async function listenTo(
  { port }: Pick<TestApp, 'port'>,
  path: string,
  headers: Record<string, string> = {},
) {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, { headers });
  const reader = response.body?.getReader();
  if (reader === undefined) throw new Error('there is no stream');
  const heard = { text: '', over: false };
  const read = async (): Promise<void> => {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      heard.text += Buffer.from(value).toString();
    }
    heard.over = true;
  };
  read().catch(() => {
    heard.over = true;
  });
  return { response, heard, close: () => reader.cancel() };
}
