import { afterEach, describe, expect, it, vi } from 'vitest';
import { prettyLines } from '../../src/cli/service/pretty-log.ts';
import { createNodeWorld } from '../../src/world/node-world.ts';
import { createTestWorld } from '../support/world.ts';

const world = createNodeWorld({ logLevel: 'silent' });

afterEach(() => vi.useRealTimers());

describe('timers', () => {
  it('support delays beyond 2^31 ms and can be cancelled', () => {
    vi.useFakeTimers();
    const run = vi.fn();
    const never = vi.fn();
    world.after(2 ** 31 + 5_000, run);
    const cancel = world.after(2 ** 32, never);
    vi.advanceTimersByTime(2 ** 31 + 4_999);
    expect(run).not.toHaveBeenCalled();
    vi.advanceTimersByTime(1);
    expect(run).toHaveBeenCalledOnce();
    cancel();
    expect(vi.getTimerCount()).toBe(0);
    world.after(Number.POSITIVE_INFINITY, never);
    vi.advanceTimersByTime(2 ** 33);
    expect(never).not.toHaveBeenCalled();
    vi.clearAllTimers();
  });

  it('by cron expression run in UTC, also after the wall clock was set', () => {
    vi.useFakeTimers({ now: Date.UTC(2026, 0, 1, 2, 59, 58, 500) });
    const nightly = vi.fn();
    const secondly = vi.fn();
    const cancels = [
      world.schedule('0 0 3 * * *', nightly),
      world.schedule('* * * * * *', secondly),
    ];
    vi.advanceTimersByTime(1_499);
    expect([nightly.mock.calls.length, secondly.mock.calls.length]).toEqual([0, 1]);
    vi.advanceTimersByTime(1);
    expect([nightly.mock.calls.length, secondly.mock.calls.length]).toEqual([1, 2]);
    vi.setSystemTime(Date.now() - 3_600_000);
    vi.advanceTimersByTime(10_000);
    expect(secondly.mock.calls.length).toBeGreaterThanOrEqual(11);
    vi.setSystemTime(Date.now() + 10 * 365 * 86_400_000);
    vi.advanceTimersByTime(60_000);
    expect(secondly.mock.calls.length).toBeLessThan(75);
    expect(nightly).toHaveBeenCalledTimes(2);
    for (const cancel of cancels) cancel();
    expect(vi.getTimerCount()).toBe(0);
  });

  it('refuse an invalid cron expression', () => {
    expect(() => world.schedule('61 * * * * *', () => {})).toThrow();
  });
});

describe('log lines', () => {
  it('are JSON with a constant message and fields, and nothing else', () => {
    const lines: string[] = [];
    const logDestination = { write: (line: string) => void lines.push(line) };
    const { log } = createNodeWorld({ logLevel: 'info', logDestination });
    log.debug('unseen');
    log.info('electrum server connected', { server: 'tcp://h:1' });
    log.error('no fields');
    const entries = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(entries.map(({ time, ...entry }) => entry)).toEqual([
      { level: 'info', message: 'electrum server connected', server: 'tcp://h:1' },
      { level: 'error', message: 'no fields' },
    ]);
    expect(entries[0]?.time).toMatch(/^\d{4}-\d\d-\d\dT.*Z$/);
  });

  it('are readable text on request, one line each', () => {
    const lines: string[] = [];
    const logDestination = { write: (line: string) => void lines.push(line) };
    const { log } = createNodeWorld({
      logLevel: 'info',
      logDestination: prettyLines(logDestination),
    });
    log.debug('unseen');
    log.warn('electrum server\u001b[2J\nconnected', { server: 'tcp://h:1', reason: 'a\nb' });
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatch(/^\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}\] WARN: electrum server/);
    expect(lines[0]).toContain('"server":"tcp://h:1"');
    expect(lines[0]).toContain('a\\nb');
  });
});

describe('the clocks and chance', () => {
  it('are the system’s', () => {
    expect(Math.abs(world.now() - Date.now())).toBeLessThan(1_000);
    expect(world.monotonic()).toBeLessThanOrEqual(world.monotonic());
    expect(world.random()).not.toBe(world.random());
    expect(world.randomBytes(32)).toHaveLength(32);
    expect(world.randomBytes(32)).not.toEqual(world.randomBytes(32));
  });
});

describe('the test world', () => {
  it('runs timers in order of time, also those that timers set', async () => {
    const test = createTestWorld();
    const ran: string[] = [];
    const at = (name: string): void => void ran.push(`${name}@${test.monotonic()}`);
    test.after(30, () => at('c'));
    test.after(10, () => {
      at('a');
      test.after(5, () => at('b'));
    });
    test.after(10, () => at('a2'));
    test.after(20, () => at('never'))();
    await test.advance(20);
    expect(ran).toEqual(['a@10', 'a2@10', 'b@15']);
    await test.advance(10);
    expect(ran.at(-1)).toBe('c@30');
    expect(test.now()).toBe(1_763_650_000_030);
  });

  it('ticks by the wall clock, wherever it is set to', async () => {
    const test = createTestWorld({ startAt: Date.UTC(2026, 0, 31, 23, 59, 59, 100) });
    const ran: string[] = [];
    const cancel = test.schedule('*/20 0 0 1 2 *', () => {
      ran.push(new Date(test.now()).toISOString());
    });
    await test.advance(86_400_000);
    const expected = ['00', '20', '40'].map((second) => `2026-02-01T00:00:${second}.000Z`);
    expect(ran).toEqual(expected);
    test.jumpWallClock(-86_400_000);
    await test.advance(60_000);
    expect(ran).toHaveLength(6);
    cancel();
    await test.advance(2 * 365 * 86_400_000);
    expect(ran).toHaveLength(6);
  });

  it('has the same chance for the same seed', () => {
    const [one, same, other] = [createTestWorld(), createTestWorld(), createTestWorld({ seed: 2 })];
    const bytes = one.randomBytes(16);
    expect(same.randomBytes(16)).toEqual(bytes);
    expect(other.randomBytes(16)).not.toEqual(bytes);
  });

  it('collects its log', () => {
    const test = createTestWorld();
    test.log.warn('it rains', { where: 'here' });
    expect(test.logs).toEqual([{ level: 'warn', message: 'it rains', fields: { where: 'here' } }]);
  });
});
