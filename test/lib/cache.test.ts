import { describe, expect, it } from 'vitest';
import { createMemory } from '../../src/lib/cache.ts';

const memory = (most: number) => createMemory<string, string[]>(most, (value) => value.length);

describe('what is remembered', () => {
  it('is found, and what was not is not', () => {
    const found = memory(10);
    found.set('a', ['1']);
    expect(found.get('a')).toEqual(['1']);
    expect(found.get('b')).toBeUndefined();
  });

  it('is forgotten from the oldest on, as many as the new one needs', () => {
    const found = memory(6);
    for (const name of ['a', 'b', 'c']) found.set(name, [name]);
    found.set('d', ['d', 'd', 'd']);
    expect(['a', 'b', 'c', 'd'].map((name) => found.get(name)?.length)).toEqual([
      undefined,
      undefined,
      1,
      3,
    ]);
  });

  it('is young again once it is set again, and weighs what it weighs now', () => {
    const found = memory(6);
    found.set('a', ['1', '2', '3']);
    found.set('b', ['1']);
    found.set('a', []);
    found.set('c', ['1', '2']);
    expect(found.get('b')).toEqual(['1']);
    found.set('d', []);
    expect(found.get('b')).toBeUndefined();
    expect(found.get('a')).toEqual([]);
  });

  it('is nothing that weighs more than all may, also not its older self', () => {
    const found = memory(3);
    found.set('a', ['1']);
    found.set('b', []);
    found.set('a', ['1', '2', '3']);
    expect(found.get('a')).toBeUndefined();
    expect(found.get('b')).toEqual([]);
  });
});
