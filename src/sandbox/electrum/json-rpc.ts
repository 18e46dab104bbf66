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

import { hexToBytes } from '@noble/hashes/utils.js';
import { isHash, type Scripthash, type Txid } from '../../bitcoin/ids.ts';

export const badRequest = (message: string): never => {
  throw new RpcError(errorCodes.badRequest, message);
};

export const commas = (number: number): string => number.toLocaleString('en-US');

export function nonNegativeInteger(value: unknown): number {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value;
  return badRequest(`${value} should be a non-negative integer`);
}

export function txidParam(value: unknown): Txid {
  return isHash(value) ? (value as Txid) : badRequest(`${value} should be a transaction hash`);
}

export function scripthashParam(value: unknown): Scripthash {
  return isHash(value) ? (value as Scripthash) : badRequest(`${value} is not a valid script hash`);
}

export function booleanParam(value: unknown, name: string): boolean {
  return typeof value === 'boolean' ? value : badRequest(`"${name}" must be a boolean`);
}

export function hexParam(value: unknown, name: string): Uint8Array {
  try {
    return hexToBytes(String(value));
  } catch {
    return badRequest(`${name} should be a hexadecimal string`);
  }
}
