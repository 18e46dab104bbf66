// The one script of our pages; every page works without it. It fetches the live parts of a page again
// when a payment changes or a block arrives, shows times in the reader's zone, counts down, applies
// filters, and copies the text that a button names.

/** The form of a time on pages for customers, as the server writes it. */
const timeParts = {
  ...{ year: 'numeric', month: 'short', day: 'numeric', numberingSystem: 'latn' },
  ...{ hour: '2-digit', minute: '2-digit', hourCycle: 'h23', timeZoneName: 'short' },
};

function enhance(root) {
  for (const time of root.querySelectorAll('time:not([data-distance])')) {
    const at = new Date(time.dateTime);
    if (time.dataset.local === undefined) {
      time.title = at.toLocaleString();
    } else {
      time.title = time.textContent;
      time.textContent = at.toLocaleString(document.documentElement.lang, timeParts);
    }
  }
  showTimes(root);
  for (const form of root.querySelectorAll('form[data-auto]')) {
    form.addEventListener('change', ({ target }) => onFilter(form, target));
  }
  // Browsers have no clipboard for a page that others can read on the way.
  if (navigator.clipboard === undefined) return;
  for (const button of root.querySelectorAll('button[data-copy]')) {
    button.classList.remove('unready');
    button.addEventListener('click', () => copy(button));
  }
}

const inWords = new Intl.RelativeTimeFormat('en', { style: 'short' });

/** A time of the last day or the next: `4 min. ago`, `in 2 hr.`; undefined for another. */
function distance(at) {
  const minutes = Math.trunc((at - Date.now()) / 60_000);
  if (minutes === 0) return at > Date.now() ? 'in a minute' : 'just now';
  if (Math.abs(minutes) < 60) return inWords.format(minutes, 'minute');
  const hours = Math.trunc(minutes / 60);
  return Math.abs(hours) < 24 ? inWords.format(hours, 'hour') : undefined;
}

function showTimes(root) {
  for (const time of root.querySelectorAll('time[data-distance]')) {
    const at = new Date(time.dateTime);
    time.textContent =
      distance(at) ?? at.toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'short' });
  }
}

/** A filter applies when it is chosen. A date is typed digit by digit: its year comes last. */
function onFilter(form, field) {
  if (field.type === 'date' && field.value !== '' && field.value < '2009') return;
  form.requestSubmit();
}

async function copy(button) {
  const from = document.getElementById(button.dataset.copy);
  await navigator.clipboard.writeText(from.textContent);
  button.textContent = button.dataset.copied ?? 'Copied';
}

function countDown() {
  for (const shown of document.querySelectorAll('[data-until]')) {
    const left = Math.max(0, Math.ceil((Number(shown.dataset.until) - Date.now()) / 1000));
    shown.textContent = `${Math.floor(left / 60)}:${String(left % 60).padStart(2, '0')}`;
  }
}

/** Whether a part has the focus in a form, an open detail (but `passing`), or input not sent yet. */
function isInUse(part) {
  if (part.querySelector('form :focus, details[open]:not(.passing)') !== null) return true;
  return [...part.querySelectorAll('input, textarea, select')].some(isTouched);
}

function isTouched(field) {
  if (field instanceof HTMLSelectElement) {
    const first = [...field.options].findIndex(({ defaultSelected }) => defaultSelected);
    return field.selectedIndex !== Math.max(first, 0);
  }
  return field.value !== field.defaultValue || field.checked !== field.defaultChecked;
}

async function refresh() {
  const headers = { 'X-Paygate-Live': '1' };
  const response = await fetch(location.href, { headers, redirect: 'manual' });
  if (response.type === 'opaqueredirect') {
    location.reload();
    return;
  }
  const page = new DOMParser().parseFromString(await response.text(), 'text/html');
  if (!response.ok) return;
  for (const part of parts) replace(part, page.getElementById(part.id));
}

function replace(part, fresh) {
  // The reader may have begun to type during the request.
  if (fresh === null || isInUse(part)) return;
  // Replacing equal content would lose a click that has begun.
  if (fresh.innerHTML === shown.get(part)) return;
  shown.set(part, fresh.innerHTML);
  const { activeElement: focused } = document;
  const tables = tablesIn(part);
  const scrolled = tables.map(({ scrollLeft }) => scrollLeft);
  const at = tables.indexOf(focused);
  part.replaceChildren(...fresh.childNodes);
  enhance(part);
  const now = tablesIn(part);
  for (const [place, table] of now.entries()) table.scrollLeft = scrolled[place] ?? 0;
  // Without this, the focus of a keyboard user would return to the top of the page.
  const same = [...part.querySelectorAll('a')].find(({ href }) => href === focused?.href);
  if (!focused?.isConnected) (now[at] ?? same)?.focus({ preventScroll: true });
}

const tablesIn = (part) => [...part.querySelectorAll('.scroll')];

let isFetching = false;
let isFetchDue = false;

/** One request at a time, so that no older response arrives after a newer one. */
async function onChange() {
  if (isFetching || parts.every(isInUse)) {
    isFetchDue = isFetching;
    return;
  }
  isFetching = true;
  try {
    await refresh();
  } catch {
    // paygate does not answer; the next change or the next open stream brings it.
  } finally {
    isFetching = false;
  }
  if (isFetchDue) {
    isFetchDue = false;
    await onChange();
  }
}

const reopenMs = 20_000;

function listen(live) {
  const events = new EventSource(live);
  events.addEventListener('message', onChange);
  // No event announces changes from before the stream was open.
  events.addEventListener('open', onChange);
  // The session is over, which the page itself says, or a proxy answers for paygate. The browser
  // opens no stream again that had another answer.
  events.addEventListener('error', () => {
    if (events.readyState !== EventSource.CLOSED) return;
    setTimeout(listen, reopenMs, live);
    onChange();
  });
}

function follow({ live, poll }) {
  if (live !== undefined) listen(live);
  if (poll !== undefined) setInterval(onChange, Number(poll));
}

/** All parts of a page have the same stream and the same interval. */
const parts = [...document.querySelectorAll('[data-live], [data-poll]')];
/** The HTML of each part as the server sent it, without what `enhance` adds. */
const shown = new Map(parts.map((part) => [part, part.innerHTML]));
enhance(document);
countDown();
setInterval(countDown, 1000);
setInterval(showTimes, 30_000, document);
if (parts.length > 0) follow(parts[0].dataset);
