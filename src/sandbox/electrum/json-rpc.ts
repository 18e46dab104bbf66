// JSON-RPC 2.0 as Electrum servers use it: one message per line. Pure; it sends nothing.
// Codes: https://www.jsonrpc.org/specification#error_object; 1 and 2 are ElectrumX's own.

export class RpcError extends Error {
  readonly code: number;
  /** Whether the server closes the connection after the response. */
  readonly disconnects: boolean;

  constructor(code: number, message: string, disconnects = false) {
    super(message);
    this.code = code;
    this.disconnects = disconnects;
  }
}

export const errorCodes = {
  badRequest: 1,
  daemon: 2,
  parse: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internal: -32603,
};

export interface JsonRpcRequest {
  /** undefined in a notification, which gets no response. */
  readonly id: unknown;
  readonly method: string;
  readonly params: readonly unknown[];
}

/** @throws RpcError when the text is not a request */
export function parseRequest(line: string): JsonRpcRequest {
  let message: unknown;
  try {
    message = JSON.parse(line);
  } catch {
    throw new RpcError(errorCodes.parse, 'invalid JSON');
  }
  if (typeof message !== 'object' || message === null || Array.isArray(message)) {
    throw new RpcError(errorCodes.invalidRequest, 'a request must be an object');
  }
  const { id, method, params = [] } = message as Record<string, unknown>;
  if (typeof method !== 'string') {
    throw new RpcError(errorCodes.invalidRequest, 'method must be a string');
  }
  if (!Array.isArray(params)) {
    throw new RpcError(errorCodes.invalidParams, 'params must be an array');
  }
  return { id, method, params };
}

export const resultLine = (id: unknown, result: unknown): string =>
  JSON.stringify({ jsonrpc: '2.0', result, id });

export const errorLine = (id: unknown, { code, message }: { code: number; message: string }) =>
  JSON.stringify({ jsonrpc: '2.0', error: { code, message }, id: id ?? null });

export const notificationLine = (method: string, params: readonly unknown[]): string =>
  JSON.stringify({ jsonrpc: '2.0', method, params });
