import { expect, it } from 'vitest';
import { createEvidenceMemory } from '../../../src/watcher/proof/evidence.ts';

it('P-149 all open evidence together has at most the maximum size', () => {
  const memory = createEvidenceMemory(100, () => 0);
  const [one, other] = [memory.open(), memory.open()];
  expect([one.take(60), other.take(40), other.take(1), one.take(0)]).toEqual([
    ...[true, true, false, true],
  ]);
});

it('P-149 released evidence frees its space, once', () => {
  const memory = createEvidenceMemory(100, () => 0);
  const [one, other] = [memory.open(), memory.open()];
  one.take(60);
  other.take(40);
  one.release();
  one.release();
  expect([other.take(61), other.take(60)]).toEqual([false, true]);
});

it('evidence that arrives after its end takes no space', () => {
  const memory = createEvidenceMemory(100, () => 0);
  const [one, other] = [memory.open(), memory.open()];
  one.take(60);
  one.close();
  expect([one.take(1), other.take(100)]).toEqual([false, true]);
});
