// Server programs that outlive the process which started them. A program's record is plain data,
// kept in a file, so that a later process can stop it too. Never signals a process that is not the one
// of the record, even if it has its pid.
// The file /proc/PID/stat: https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { PATH, tail } from './install.mjs';

const READY_TIMEOUT_MS = 60_000;
const STOP_TIMEOUT_MS = 30_000;
const KILL_TIMEOUT_MS = 10_000;
const POLL_INTERVAL_MS = 50;

export interface Program {
  readonly label: string;
  readonly command: string;
  readonly args: readonly string[];
  /** All of its environment but PATH. */
  readonly env: Readonly<Record<string, string>>;
  /** Where its output goes. */
  readonly logFile: string;
  /** Null before it is started and after it was stopped. */
  process: { readonly pid: number; readonly startTime: string } | null;
}

export const newProgram = (
  label: string,
  command: string,
  args: readonly string[],
  logFile: string,
  env: Program['env'] = {},
): Program => ({ label, command, args, env, logFile, process: null });

/** The start time tells a process from a later one of the same pid. */
export const isRunning = ({ process }: Program) =>
  process !== null && readStartTime(process.pid) === process.startTime;

/**
 * When a process started, in clock ticks since the machine did; null after its end. (Its command line
 * would not do: that is empty for a moment while chroot becomes the program.)
 */
function readStartTime(pid: number): string | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const [state, ...fields] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return state === 'Z' ? null : (fields[18] ?? null);
  } catch {
    return null;
  }
}

/** Starts the program and notes its pid; `untilReady` waits for more. */
export async function launch(program: Program): Promise<void> {
  if (isRunning(program)) throw new Error(`${program.label} runs already`);
  const log = openSync(program.logFile, 'a', 0o600);
  const child = spawn(program.command, program.args, {
    detached: true,
    env: { PATH, ...program.env },
    stdio: ['ignore', log, log],
  });
  closeSync(log);
  await once(child, 'spawn');
  child.unref();
  const pid = child.pid ?? 0;
  program.process = { pid, startTime: readStartTime(pid) ?? 'ended at once' };
}

/** Repeats the probe until it no longer throws. Fails with the end of the program's log. */
export async function untilReady(program: Program, probe: () => Promise<unknown>): Promise<void> {
  const deadline = Date.now() + READY_TIMEOUT_MS;
  let reason = '';
  while (Date.now() < deadline && isRunning(program)) {
    try {
      await probe();
      return;
    } catch (error) {
      reason = (error as Error).message;
    }
    await sleep(POLL_INTERVAL_MS);
  }
  const what = isRunning(program)
    ? `is not ready after ${READY_TIMEOUT_MS / 1000} s (${reason})`
    : 'does not run';
  const log = tail(readFileSync(program.logFile, 'utf8'));
  throw new Error(`${program.label} ${what}. The end of ${program.logFile}:\n${log}`);
}

/** Waits until the program has logged this, now or in an earlier run. */
export const untilLogged = (program: Program, text: string) =>
  untilReady(program, async () => {
    if (!readFileSync(program.logFile, 'utf8').includes(text)) throw new Error(`no "${text}" yet`);
  });

/** Sends it a signal that does not end it. */
export function signal(program: Program, signal: 'SIGSTOP' | 'SIGCONT'): void {
  if (program.process !== null && isRunning(program)) process.kill(program.process.pid, signal);
}

/**
 * Stops the program and waits until it is gone; kills it when that takes too long.
 * @param signal SIGKILL for a crash
 */
export async function stop(program: Program, signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
  const isGone =
    (await signalUntilGone(program, signal, STOP_TIMEOUT_MS)) ||
    (await signalUntilGone(program, 'SIGKILL', KILL_TIMEOUT_MS));
  if (!isGone) throw new Error(`${program.label} (pid ${program.process?.pid}) does not end`);
  program.process = null;
}

async function signalUntilGone(program: Program, signal: NodeJS.Signals, timeoutMs: number) {
  if (program.process === null || !isRunning(program)) return true;
  try {
    process.kill(program.process.pid, signal);
    process.kill(program.process.pid, 'SIGCONT'); // one that is paused receives no signal
  } catch {
    // It has just ended by itself.
  }
  const deadline = Date.now() + timeoutMs;
  while (isRunning(program) && Date.now() < deadline) await sleep(POLL_INTERVAL_MS);
  return !isRunning(program);
}
