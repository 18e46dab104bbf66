// Checks parameters of Electrum methods. Errors have the texts of ElectrumX.

import { hexToBytes } from '@noble/hashes/utils.js';
import { isHash, type Scripthash, type Txid } from '../../bitcoin/ids.ts';
import { errorCodes, RpcError } from './json-rpc.ts';

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
