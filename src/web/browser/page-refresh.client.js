// The one script of our pages; every page works without it. It fetches the live parts of a page again
// when a payment changes or a block arrives, shows times in the reader's zone, counts down, applies
// filters, and copies the text that a button names. It survives the faults of docs/decisions/057.

/** The form of a time on pages for customers, as the server writes it. */
const timeParts = {
  year: 'numeric',
  month: 'short',
  day: 'numeric',
  numberingSystem: 'latn',
  hour: '2-digit',
  minute: '2-digit',
  hourCycle: 'h23',
  timeZoneName: 'short',
};

const all = (root, selector) => [...root.querySelectorAll(selector)];

function enhance(root) {
  for (const time of all(root, 'time:not([data-distance])')) {
    const at = new Date(time.dateTime);
    if ('local' in time.dataset) {
      time.title = time.textContent;
      time.textContent = at.toLocaleString(document.documentElement.lang, timeParts);
    } else {
      time.title = at.toLocaleString();
    }
  }
  showTimes(root);
  for (const form of all(root, 'form[data-auto]')) {
    form.addEventListener('change', ({ target }) => onFilter(form, target));
  }
  root.querySelector('form[data-send]')?.requestSubmit();
  // Browsers have no clipboard for a page that others can read on the way.
  if (!navigator.clipboard) return;
  for (const button of all(root, 'button[data-copy]')) {
    button.classList.remove('unready');
    const label = button.textContent;
    button.addEventListener('click', () => copy(button, label));
  }
}

const inWords = new Intl.RelativeTimeFormat('en', { style: 'short' });

/** A time of the last day or the next: `4 min. ago`, `in 2 hr.`; undefined for another. */
function distance(at) {
  const minutes = Math.trunc((at - Date.now()) / 60_000);
  if (!minutes) return at > Date.now() ? 'in a minute' : 'just now';
  if (Math.abs(minutes) < 60) return inWords.format(minutes, 'minute');
  const hours = Math.trunc(minutes / 60);
  return Math.abs(hours) < 24 ? inWords.format(hours, 'hour') : undefined;
}

function showTimes(root) {
  for (const time of all(root, 'time[data-distance]')) {
    const at = new Date(time.dateTime);
    time.textContent =
      distance(at) ?? at.toLocaleString([], { dateStyle: 'medium', timeStyle: 'short' });
  }
}

/** A filter applies when it is chosen. A date is typed digit by digit: its year comes last. */
function onFilter(form, field) {
  if (field.type === 'date' && field.value && field.value < '2009') return;
  form.requestSubmit();
}

async function copy(button, label) {
  const from = document.getElementById(button.dataset.copy);
  await navigator.clipboard.writeText(from.textContent);
  button.textContent = button.dataset.copied ?? 'Copied';
  setTimeout(() => {
    button.textContent = label;
  }, 2000);
}

function countDown() {
  for (const shown of all(document, '[data-until]')) {
    const leftMs = Math.max(0, shown.dataset.until - Date.now() + aheadMs);
    const left = new Date(leftMs + 999).toISOString();
    shown.textContent = left.slice(11, 19).replace(/^(00:)?0?/, '');
  }
}

/** Whether a part has the focus in a form, an open detail (but `passing`), or input not sent yet. */
function isInUse(part) {
  return (
    part.querySelector('form :focus, details[open]:not(.passing)') !== null ||
    all(part, 'input, textarea, select').some(isTouched)
  );
}

function isTouched(field) {
  if (field instanceof HTMLSelectElement) {
    const first = [...field.options].findIndex(({ defaultSelected }) => defaultSelected);
    return field.selectedIndex !== Math.max(first, 0);
  }
  return field.value !== field.defaultValue || field.checked !== field.defaultChecked;
}

function replace(part, fresh) {
  // The reader may have begun to type during the request.
  if (isInUse(part)) {
    stale = [...stale, part];
    return;
  }
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
  const same = all(part, 'a').find(({ href }) => href === focused?.href);
  if (!focused?.isConnected) (now[at] ?? same)?.focus({ preventScroll: true });
}

const tablesIn = (part) => all(part, '.scroll');

/** All parts of a page have the same stream and the same interval. */
const parts = all(document, '[data-live], [data-poll]');
/** The HTML of each part as the server sent it, without what `enhance` adds. */
const shown = new Map(parts.map((part) => [part, part.innerHTML]));
/** How long a stream may be silent: longer than the time between two heartbeats, 12.5 s. */
const silenceMs = 15_000;
const { live, poll = silenceMs, now: sentAt } = parts[0]?.dataset ?? {};
/** How far this clock is ahead of the server's. */
const aheadMs = Date.now() - sentAt || 0;
/** A page may take so long at the first attempt, and each time longer at the next ones. */
const answerMs = 6000;
const maxFailures = 4;

/** Milliseconds that no change of the clock moves. */
const now = () => performance.now();
/** Pages that lost the same server do not come back at the same moment. */
const jitter = (ms) => now() + ms * (0.5 + Math.random() / 2);

let stream;
let request;
/** Parts that may be out of date. */
let stale = [];
/** Requests for the page that failed since the last good one. */
let failures = 0;
/** When stale parts are fetched, at the earliest. */
let fetchAt = 0;
/** When the stream counts as dead, or the interval is over. */
let silentAt = live ? 0 : now() + Number(poll);

function markStale(at) {
  stale = parts;
  fetchAt = at;
}

/** A tab that nobody sees holds no connection. */
function step() {
  if (document.hidden) return;
  if (now() >= silentAt) {
    silentAt = now() + Number(poll);
    // A proxy may hold back what the stream says, or a network have lost it without an end.
    if (!live || stream) markStale(0);
    if (live) listen();
  }
  const isDue = request === undefined && now() >= fetchAt;
  if (isDue && stale.some((part) => !isInUse(part))) load();
}

/** Not an `EventSource`, which hides heartbeats, refusals and redirects from the script. */
async function listen() {
  stream?.abort();
  const own = new AbortController();
  stream = own;
  try {
    const headers = { Accept: 'text/event-stream' };
    const { ok, body } = await fetch(live, { headers, redirect: 'manual', signal: own.signal });
    const reader = ok && body.getReader();
    let heartbeat;
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      silentAt = now() + silenceMs;
      if (new TextDecoder().decode(value) !== heartbeat) onChange();
      // No event announces changes from before the first heartbeat.
      heartbeat = ': beat\n\n';
    }
  } catch {
    // It was refused or cut.
  }
  if (own !== stream) return;
  stream = undefined;
  silentAt = jitter(silenceMs);
  markStale(jitter(1000));
}

function onChange() {
  markStale(0);
  step();
}

/** One request at a time, so that no older response arrives after a newer one. */
async function load() {
  request = new AbortController();
  const { signal } = request;
  const timeout = setTimeout(() => request.abort(), answerMs * (failures + 1));
  stale = [];
  try {
    const headers = { 'X-Paygate-Live': '1' };
    const response = await fetch(location.href, { headers, redirect: 'manual', signal });
    const { ok, status } = response;
    // The session is over. A redirect (0) that stays is the sign-in of a proxy.
    if (status === 401 || (status === 0 && failures === maxFailures)) location.reload();
    const page = new DOMParser().parseFromString(await response.text(), 'text/html');
    const fresh = parts.map(({ id }) => page.getElementById(id));
    // A connection that is cut may end the text of a page early, without an error.
    const isOurs = page.querySelector('meta[name=generator]') !== null;
    if (!ok || !isOurs || fresh.includes(null)) throw response;
    failures = 0;
    for (const [at, part] of parts.entries()) replace(part, fresh[at]);
  } catch {
    markStale(jitter(1000 * 2 ** failures));
    failures = Math.min(failures + 1, maxFailures);
  }
  clearTimeout(timeout);
  request = undefined;
  step();
}

/** After a sleep, or offline, no connection is trusted. */
function renew() {
  request?.abort();
  stream?.abort();
  failures = 0;
  silentAt = 0;
  onChange();
}

function follow() {
  self.isLive = true;
  // The header Refresh is for pages without this script. WebKit cancels it only during a request.
  fetch(import.meta.url).catch(() => undefined);
  stop();
  step();
  setInterval(step, 1000);
  addEventListener('online', renew);
  addEventListener('pageshow', ({ persisted }) => persisted && renew());
  document.addEventListener('visibilitychange', renew);
}

enhance(document);
countDown();
setInterval(countDown, 1000);
setInterval(showTimes, 30_000, document);
// Scripts of modules run before the page counts as loaded.
if (parts[0]) addEventListener('load', follow);
