// What a bench started and must end, whether it succeeds, fails or is interrupted.

/** @type {(() => unknown)[]} */
const steps = [];

/**
 * Runs a step when the bench is over, the last step first.
 * @param {() => unknown} step
 */
export function atEnd(step) {
  steps.push(step);
}

/** @type {Promise<void> | undefined} */
let running;

/** A second caller waits for the first clean-up. */
export function cleanUp() {
  running ??= runSteps().finally(() => {
    running = undefined;
  });
  return running;
}

async function runSteps() {
  for (let step = steps.pop(); step !== undefined; step = steps.pop()) {
    try {
      await step();
    } catch (error) {
      process.stderr.write(`bench: clean-up failed: ${/** @type {Error} */ (error).message}\n`);
      process.exitCode = 1;
    }
  }
}
