// What a bench has started and must be ended, whether it succeeds, fails or is interrupted.

/** @type {(() => unknown)[]} */
const endings = [];

/**
 * Has something ended when the bench is over, the last first.
 * @param {() => unknown} end
 */
export function atEnd(end) {
  endings.push(end);
}

/** @type {Promise<void> | undefined} */
let ending;

/** Whoever calls it meanwhile waits for the same end. */
export function endAll() {
  ending ??= endEach().finally(() => {
    ending = undefined;
  });
  return ending;
}

async function endEach() {
  for (let end = endings.pop(); end !== undefined; end = endings.pop()) {
    try {
      await end();
    } catch (error) {
      process.stderr.write(`bench: tidying up failed: ${/** @type {Error} */ (error).message}\n`);
      process.exitCode = 1;
    }
  }
}
