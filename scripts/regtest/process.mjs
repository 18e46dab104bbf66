// Commands that run to their end, and server programs that outlive the process which started them.
// A program's record is plain data, kept in a file, so that a later process can stop it too. Never
// signals a process that is not the one of the record, even if it has its pid.
// The file /proc/PID/stat: https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html

import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';

const READY_TIMEOUT_MS = 60_000;
const STOP_TIMEOUT_MS = 30_000;
const KILL_TIMEOUT_MS = 10_000;
const POLL_INTERVAL_MS = 50;
const MAX_OUTPUT_BYTES = 64 * 1024 * 1024;
const TAIL_LINES = 20;

const PATH = `${process.env.PATH}:/usr/sbin:/sbin`; // debootstrap and chroot are in sbin

/**
 * @typedef {object} Program
 * @property {string} label
 * @property {string} command
 * @property {string[]} args
 * @property {Record<string, string>} env all of its environment but PATH
 * @property {string} logFile where its output goes
 * @property {Process | null} process null before it is started and after it was stopped
 *
 * @typedef {object} Process
 * @property {number} pid
 * @property {string} startTime tells it from a later process of the same pid
 */

/**
 * Runs a command to its end. What it prints is seen only when it fails.
 * @param {string} command
 * @param {string[]} args
 */
export async function run(command, args) {
  const env = { ...process.env, PATH, LC_ALL: 'C.UTF-8', DEBIAN_FRONTEND: 'noninteractive' };
  try {
    await promisify(execFile)(command, args, { env, maxBuffer: MAX_OUTPUT_BYTES });
  } catch (error) {
    const { message, stdout = '', stderr = '' } = /** @type {any} */ (error);
    const [reason] = message.split('\n');
    throw new Error(`${reason}\n${tail(`${stdout}\n${stderr}`)}`, { cause: error });
  }
}

/**
 * @param {Program} program
 * @returns {boolean}
 */
export function isRunning({ process }) {
  return process !== null && readStartTime(process.pid) === process.startTime;
}

/**
 * When a process started, in clock ticks since the machine did; null when it is not, or no longer.
 * (Its command line would not do: that is empty for a moment while chroot becomes the program.)
 * @param {number} pid
 * @returns {string | null}
 */
function readStartTime(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const [state, ...fields] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return state === 'Z' ? null : (fields[18] ?? null);
  } catch {
    return null;
  }
}

/**
 * Starts the program and notes its pid; `untilReady` waits for more.
 * @param {Program} program
 * @param {string[]} moreArgs for this time
 */
export async function launch(program, moreArgs = []) {
  if (isRunning(program)) throw new Error(`${program.label} runs already`);
  const log = openSync(program.logFile, 'a', 0o600);
  const child = spawn(program.command, [...program.args, ...moreArgs], {
    detached: true,
    env: { PATH, ...program.env },
    stdio: ['ignore', log, log],
  });
  closeSync(log);
  await once(child, 'spawn');
  child.unref();
  const pid = /** @type {number} */ (child.pid);
  program.process = { pid, startTime: readStartTime(pid) ?? 'ended at once' };
}

/**
 * Repeats the probe until it no longer throws. Fails with the end of the program's log.
 * @param {Program} program
 * @param {() => Promise<unknown>} probe
 */
export async function untilReady(program, probe) {
  const deadline = Date.now() + READY_TIMEOUT_MS;
  let reason = '';
  while (Date.now() < deadline && isRunning(program)) {
    try {
      await probe();
      return;
    } catch (error) {
      reason = /** @type {Error} */ (error).message;
    }
    await sleep(POLL_INTERVAL_MS);
  }
  const what = isRunning(program)
    ? `is not ready after ${READY_TIMEOUT_MS / 1000} s (${reason})`
    : 'does not run';
  const log = tail(readFileSync(program.logFile, 'utf8'));
  throw new Error(`${program.label} ${what}. The end of ${program.logFile}:\n${log}`);
}

/**
 * Waits until the program has logged this, now or in an earlier run.
 * @param {Program} program
 * @param {string} text
 */
export function untilLogged(program, text) {
  return untilReady(program, async () => {
    if (!readFileSync(program.logFile, 'utf8').includes(text)) throw new Error(`no "${text}" yet`);
  });
}

/**
 * Sends it a signal that does not end it.
 * @param {Program} program
 * @param {'SIGSTOP' | 'SIGCONT'} signal
 */
export function signal(program, signal) {
  if (program.process !== null && isRunning(program)) process.kill(program.process.pid, signal);
}

/**
 * Stops the program and waits until it is gone; kills it when that takes too long.
 * @param {Program} program
 * @param {NodeJS.Signals} signal SIGKILL for a crash
 */
export async function stop(program, signal = 'SIGTERM') {
  const isGone =
    (await signalUntilGone(program, signal, STOP_TIMEOUT_MS)) ||
    (await signalUntilGone(program, 'SIGKILL', KILL_TIMEOUT_MS));
  if (!isGone) throw new Error(`${program.label} (pid ${program.process?.pid}) does not end`);
  program.process = null;
}

/**
 * @param {Program} program
 * @param {NodeJS.Signals} signal
 * @param {number} timeoutMs
 * @returns {Promise<boolean>} whether it is gone
 */
async function signalUntilGone(program, signal, timeoutMs) {
  if (program.process === null || !isRunning(program)) return true;
  try {
    process.kill(program.process.pid, signal);
    process.kill(program.process.pid, 'SIGCONT'); // one that is paused does not hear
  } catch {
    // it has just ended by itself
  }
  const deadline = Date.now() + timeoutMs;
  while (isRunning(program) && Date.now() < deadline) await sleep(POLL_INTERVAL_MS);
  return !isRunning(program);
}

/** @param {string} text */
function tail(text) {
  return text.trimEnd().split('\n').slice(-TAIL_LINES).join('\n');
}
