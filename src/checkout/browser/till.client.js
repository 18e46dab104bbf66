// The script of a till: its keypad types the amount, and the screen stays on.

const amount = document.getElementById('amount');
const keypad = document.querySelector('.keypad');

/** The amount after a key; unchanged by a digit that it has no place for. */
function pressed(value, key) {
  if (key === 'clear') return '';
  if (key === 'delete') return value.slice(0, -1);
  const { decimals } = keypad.dataset;
  const isAmount = new RegExp(`^\\d{0,12}(?:[.,]\\d{0,${decimals}})?$`);
  return isAmount.test(value + key) ? value + key : value;
}

if (keypad !== null) {
  keypad.classList.remove('unready');
  // The keyboard of a phone would cover the keypad.
  amount.inputMode = 'none';
  keypad.addEventListener('click', ({ target }) => {
    const key = target.closest('button')?.dataset.key;
    if (key !== undefined) amount.value = pressed(amount.value, key);
  });
}

/** The browser lets the screen sleep again whenever the page is hidden. */
async function stayOn() {
  if (document.visibilityState !== 'visible') return;
  // The browser may refuse, for example while the battery is low.
  await navigator.wakeLock?.request('screen').catch(() => undefined);
}

document.addEventListener('visibilitychange', stayOn);
stayOn();
