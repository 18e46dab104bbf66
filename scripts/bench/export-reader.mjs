// Who reads an export while others ask, a process of its own: told an address and a cookie, it reads all of it and
// tells how many lines it had.

process.once('message', async (/** @type {{ url: string, cookie: string }} */ { url, cookie }) => {
  const response = await fetch(url, { headers: { cookie } });
  let lines = 0;
  for await (const chunk of /** @type {AsyncIterable<Uint8Array>} */ (response.body ?? [])) {
    for (const byte of chunk) if (byte === 0x0a) lines += 1;
  }
  process.send?.({ status: response.status, lines });
});
