// The files of drizzle/, in order. A new one is added here by hand.

import initial from '../../../drizzle/0000_initial.sql?raw';

export interface Migration {
  readonly name: string;
  readonly sql: string;
}

export const migrations: readonly Migration[] = [{ name: '0000_initial', sql: initial }];
