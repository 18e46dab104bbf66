// A text that a browser saves as a file, sent in pieces.

/**
 * Each piece of text is made when the client has taken what came before.
 * @param type without its charset, which is UTF-8
 */
export const fileResponse = (name: string, type: string, text: AsyncIterable<string>): Response =>
  new Response(ReadableStream.from(text).pipeThrough(new TextEncoderStream()), {
    headers: {
      'Content-Type': `${type}; charset=utf-8`,
      'Content-Disposition': `attachment; filename="${name}"`,
    },
  });
