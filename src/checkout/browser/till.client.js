// The script of a till: its keypad fills the amount from the right as a card terminal does, the
// screen stays on, and the page says when the device is offline.

const amount = document.getElementById('amount');
const keypad = document.querySelector('.keypad');
const whole = document.getElementById('whole');
const maxDigits = 12;

/** The amount of these digits: `350` is 3.50 in a currency with two decimals. */
function shownAs(digits) {
  const decimals = Number(keypad.dataset.decimals);
  const own = digits.replace(/^0+/, '');
  if (own === '' || decimals === 0 || whole?.checked) return own;
  const padded = own.padStart(decimals + 1, '0');
  return `${padded.slice(0, -decimals)}${keypad.dataset.separator}${padded.slice(-decimals)}`;
}

function pressed(value, key) {
  const digits = value.replace(/\D/g, '');
  if (key === 'delete') return shownAs(digits.slice(0, -1));
  return (digits + key).length > maxDigits ? value : shownAs(digits + key);
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

if (whole !== null) {
  whole.checked = localStorage.getItem('whole') === 'on';
  whole.addEventListener('change', () => {
    localStorage.setItem('whole', whole.checked ? 'on' : 'off');
    amount.value = '';
  });
}

/** The browser lets the screen sleep again whenever the page is hidden. */
async function stayOn() {
  if (document.visibilityState !== 'visible') return;
  // The browser may refuse, for example while the battery is low.
  await navigator.wakeLock?.request('screen').catch(() => undefined);
}

function showOffline() {
  document.getElementById('offline').hidden = navigator.onLine;
}

document.addEventListener('visibilitychange', stayOn);
addEventListener('online', showOffline);
addEventListener('offline', showOffline);
stayOn();
showOffline();
