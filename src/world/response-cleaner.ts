// Makes responses of shops parseable for a strict HTTP parser, as leniently as curl. Examples are a
// space before a header's colon, bare line feeds, a repeated length, `100 Continue`. A strict head
// passes unchanged. Any other head is rewritten with what a callback needs, and its connection is
// not reused. What is no HTTP passes unchanged, and the parser rejects it. See docs/decisions/041.

const maxHeadBytes = 16 * 1024;
const maxLineLength = 1_024;
/** Limit for interim heads (1xx), and for trailers. */
const maxSkippedBytes = 16 * 1024;

/** The code of undici. */
const headersOverflow = 'UND_ERR_HEADERS_OVERFLOW';

const statusLine = /^HTTP\/(?:1\.[01]|2(?:\.0)?) +([1-9]\d\d)(?!\d)/i;
const strictStatusLine = /^HTTP\/1\.1 [1-9]\d\d(?: [\t\x20-\x7e]*)?$/;
const strictHeader = /^[\w!#$%&'*+.^`|~-]+:[ \t]*(?:[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?)?$/;
const endOfHead = /\n\r*\n/;

interface ResponseHead {
  readonly status: number;
  readonly isStrict: boolean;
  readonly isChunked: boolean;
  /** Bytes of the body; undefined if the body ends with the connection. */
  readonly length: number | undefined;
  readonly location: string | undefined;
  readonly retryAfter: string | undefined;
}

/**
 * What comes next: a head, a body of known length, chunks, a body until the end, or ignored bytes.
 */
type CleanerState = 'head' | 'length' | 'size' | 'chunk' | 'chunk end' | 'trailer' | 'raw' | 'over';

export class ResponseCleaner {
  #state: CleanerState = 'head';
  #pending = Buffer.alloc(0);
  /** Remaining bytes of the body or of the chunk. */
  #left = 0;
  #isLast = false;
  #isHead = false;
  #skippedBytes = 0;

  /** @param request the beginning of a request that is sent */
  sent(request: string): void {
    this.#isHead = request.startsWith('HEAD ');
  }

  /**
   * @returns bytes for the parser
   * @throws Error with undici's code for a head that is too large
   */
  push(bytes: Buffer): Buffer {
    this.#pending = Buffer.concat([this.#pending, bytes]);
    const given: Buffer[] = [];
    for (;;) {
      const before = this.#pending.length;
      const state = this.#state;
      const step = this.#step();
      if (step !== undefined) given.push(step);
      if (this.#pending.length === before && this.#state === state) break;
    }
    return Buffer.concat(given);
  }

  /** The server closed the connection. @returns the last bytes for the parser */
  end(): Buffer {
    if (this.#state === 'trailer') return Buffer.from('\r\n');
    const text = this.#pending.toString('latin1');
    const isHeadCutOff = this.#state === 'head' && text.includes('\n') && statusLine.test(text);
    if (!isHeadCutOff) return this.#take(this.#pending.length);
    return this.push(Buffer.from(text.endsWith('\n') ? '\r\n' : '\r\n\r\n'));
  }

  #step(): Buffer | undefined {
    switch (this.#state) {
      case 'head':
        return this.#readHead();
      case 'length':
        return this.#readLength();
      case 'size':
        return this.#readSize();
      case 'chunk':
        return this.#readChunk();
      case 'chunk end':
        return this.#readChunkEnd();
      case 'trailer':
        return this.#readTrailer();
      case 'raw':
        return this.#take(this.#pending.length);
      case 'over':
        this.#take(this.#pending.length);
        return undefined;
    }
  }

  #take(length: number): Buffer {
    const taken = this.#pending.subarray(0, length);
    this.#pending = this.#pending.subarray(length);
    return taken;
  }

  /** @throws Error with undici's code for a server that sends ignored bytes without end */
  #skip(length: number): void {
    this.#skippedBytes += length;
    if (this.#skippedBytes > maxSkippedBytes) throw tooLarge();
  }

  /** The next row of text, without its end; undefined while it is incomplete. */
  #takeLine(): string | undefined {
    const end = this.#pending.indexOf('\n');
    if ((end === -1 ? this.#pending.length : end) > maxLineLength) {
      this.#state = 'raw';
      return undefined;
    }
    return end === -1 ? undefined : withoutCr(this.#take(end + 1).toString('latin1', 0, end));
  }

  #readHead(): Buffer | undefined {
    const text = this.#pending.subarray(0, maxHeadBytes + 1).toString('latin1');
    const [line = ''] = text.split('\n', 1);
    const isWhole = line.length < text.length;
    if (isWhole ? !statusLine.test(line) : !'HTTP/'.startsWith(line.slice(0, 5).toUpperCase())) {
      this.#state = 'raw';
      return undefined;
    }
    const found = endOfHead.exec(text);
    if (found === null) {
      if (text.length <= maxHeadBytes) return undefined;
      throw tooLarge();
    }
    const head = parseHead(text.slice(0, found.index), found[0]);
    if (head === undefined) {
      this.#state = 'raw';
      return undefined;
    }
    const written = this.#take(found.index + found[0].length);
    if (head.status < 200 && head.status !== 101) {
      this.#skip(written.length);
      return undefined;
    }
    this.#skippedBytes = 0;
    this.#expectBody(head);
    if (head.isStrict) return written;
    return Buffer.from(writeHead(head), 'latin1');
  }

  #expectBody({ status, isStrict, isChunked, length }: ResponseHead): void {
    const hasNone = this.#isHead || status === 204 || status === 304;
    this.#isLast = !isStrict;
    this.#left = length ?? 0;
    if (hasNone) this.#state = this.#afterBody();
    else if (isChunked) this.#state = 'size';
    else this.#state = length === undefined ? 'raw' : 'length';
  }

  #afterBody(): CleanerState {
    return this.#isLast ? 'over' : 'head';
  }

  #readLength(): Buffer {
    const taken = this.#take(this.#left);
    this.#left -= taken.length;
    if (this.#left === 0) this.#state = this.#afterBody();
    return taken;
  }

  #readSize(): Buffer | undefined {
    const whole = this.#pending;
    const line = this.#takeLine();
    if (line === undefined) return undefined;
    const [digits] = /^[0-9a-f]{1,12}/i.exec(line) ?? [];
    if (digits === undefined) {
      this.#pending = whole;
      this.#state = 'raw';
      return undefined;
    }
    this.#left = Number.parseInt(digits, 16);
    this.#state = this.#left === 0 ? 'trailer' : 'chunk';
    return this.#left === 0 ? Buffer.from('0\r\n') : undefined;
  }

  /** Received bytes of a chunk are passed on as a chunk of their own. */
  #readChunk(): Buffer | undefined {
    const taken = this.#take(this.#left);
    if (taken.length === 0) return undefined;
    this.#left -= taken.length;
    if (this.#left === 0) this.#state = 'chunk end';
    return Buffer.concat([
      Buffer.from(`${taken.length.toString(16)}\r\n`),
      taken,
      Buffer.from('\r\n'),
    ]);
  }

  #readChunkEnd(): Buffer | undefined {
    const [first, second] = this.#pending;
    const length = first === 0x0a ? 1 : first === 0x0d && second === 0x0a ? 2 : 0;
    if (length > 0) {
      this.#take(length);
      this.#state = 'size';
    } else if (first !== undefined && (first !== 0x0d || second !== undefined)) {
      this.#state = 'raw';
    }
    return undefined;
  }

  /** Trailers are ignored. */
  #readTrailer(): Buffer | undefined {
    const line = this.#takeLine();
    if (line !== '') {
      this.#skip(line === undefined ? 0 : line.length + 1);
      return undefined;
    }
    this.#state = this.#afterBody();
    return Buffer.from('\r\n');
  }
}

const tooLarge = (): Error =>
  Object.assign(new Error('the head of an answer is too large'), { code: headersOverflow });

/** A loop, because `/\r+$/` needs quadratic time. */
function withoutCr(line: string): string {
  let end = line.length;
  while (line[end - 1] === '\r') end -= 1;
  return line.slice(0, end);
}

/** Undefined for a head whose lengths contradict each other. */
function parseHead(text: string, end: string): ResponseHead | undefined {
  const lines = text.split('\n').map(withoutCr);
  const [first = ''] = lines;
  const isPlain = !/(?<!\r)\n|\r(?!\n)/.test(text + end) && end === '\n\r\n';
  const unfolded = lines.join('\n').replace(/\n[ \t]+/g, ' ');
  const fields = unfolded.split('\n').slice(1).map(parseField);
  const valuesOf = (name: string): string[] =>
    fields.filter((field) => field.name === name).map(({ value }) => value);
  const codings = valuesOf('transfer-encoding');
  const contentLengths = valuesOf('content-length');
  const isChunked = codings.some((value) => /\bchunked\b/i.test(value));
  const lengths = contentLengths.flatMap(lengthIn);
  const length = isChunked ? undefined : lengths.at(-1);
  // The last length counts, as in curl. After a smaller one, the end of the body is unknown.
  if (length !== undefined && lengths.some((each) => each < length)) return undefined;
  const isUsual = isChunked
    ? contentLengths.length === 0 && codings.length === 1 && /^chunked$/i.test(codings[0] ?? '')
    : codings.length === 0 &&
      contentLengths.every((value) => /^\d{1,15}$/.test(value)) &&
      contentLengths.length < 2;
  return {
    status: Number(statusLine.exec(first)?.[1]),
    isStrict:
      isPlain &&
      isUsual &&
      strictStatusLine.test(first) &&
      lines.slice(1).every((line) => strictHeader.test(line)),
    isChunked,
    length,
    location: valuesOf('location')[0],
    retryAfter: valuesOf('retry-after')[0],
  };
}

function parseField(line: string): { readonly name: string; readonly value: string } {
  const colon = line.indexOf(':');
  if (colon === -1) return { name: '', value: '' };
  return { name: line.slice(0, colon).trim().toLowerCase(), value: line.slice(colon + 1).trim() };
}

/** The length as curl reads it: text behind the digits is ignored, and so is a number too large. */
function lengthIn(value: string): number[] {
  const length = Number(/^\+?(\d+)/.exec(value)?.[1]);
  return Number.isSafeInteger(length) ? [length] : [];
}

function writeHead({ status, isChunked, length, location, retryAfter }: ResponseHead): string {
  const fields = [
    ['location', location],
    ['retry-after', retryAfter],
    ['transfer-encoding', isChunked ? 'chunked' : undefined],
    ['content-length', length === undefined ? undefined : String(length)],
    ['connection', 'close'],
  ];
  const lines = fields.flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}: ${value.replace(/[^\t\x20-\x7e\x80-\xff]/g, '')}\r\n`],
  );
  return `HTTP/1.1 ${status} \r\n${lines.join('')}\r\n`;
}
