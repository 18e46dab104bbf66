// The one script of the dashboard; every page works without it. It fetches a page anew when a payment
// changes or a block comes, tells times in the reader's zone, counts down, and copies what a button names.

function enhance(root) {
  for (const time of root.querySelectorAll('time')) {
    time.title = new Date(time.dateTime).toLocaleString();
  }
  for (const button of root.querySelectorAll('button[data-copy]')) {
    button.classList.remove('unready');
    button.addEventListener('click', () => copy(button));
  }
}

async function copy(button) {
  const from = document.getElementById(button.dataset.copy);
  await navigator.clipboard.writeText(from.textContent);
  button.textContent = 'Copied';
}

function countDown() {
  for (const shown of document.querySelectorAll('[data-until]')) {
    const left = Math.max(0, Math.ceil((Number(shown.dataset.until) - Date.now()) / 1000));
    shown.textContent = `${Math.floor(left / 60)}:${String(left % 60).padStart(2, '0')}`;
  }
}

/** Not while somebody types or reads in what would be replaced, or has typed what is not sent yet. */
function isInUse(main) {
  if (main.querySelector('form :focus, details[open]') !== null) return true;
  return [...main.querySelectorAll('input, textarea, select')].some(isTouched);
}

function isTouched(field) {
  if (field instanceof HTMLSelectElement) {
    const first = [...field.options].findIndex(({ defaultSelected }) => defaultSelected);
    return field.selectedIndex !== Math.max(first, 0);
  }
  return field.value !== field.defaultValue || field.checked !== field.defaultChecked;
}

async function replace(main) {
  const headers = { 'X-Paygate-Live': '1' };
  const response = await fetch(location.href, { headers, redirect: 'manual' });
  if (response.type === 'opaqueredirect') {
    location.reload();
    return;
  }
  const page = new DOMParser().parseFromString(await response.text(), 'text/html');
  const fresh = page.getElementById('main');
  // Somebody may have begun to type while it was on its way.
  if (!response.ok || fresh === null || isInUse(main)) return;
  // Whoever is about to press something would miss it.
  if (fresh.innerHTML === shown) return;
  shown = fresh.innerHTML;
  const { activeElement: focused } = document;
  const tables = tablesIn(main);
  const scrolled = tables.map(({ scrollLeft }) => scrollLeft);
  const at = tables.indexOf(focused);
  main.replaceChildren(...fresh.childNodes);
  enhance(main);
  const now = tablesIn(main);
  for (const [place, table] of now.entries()) table.scrollLeft = scrolled[place] ?? 0;
  // Whoever goes by keyboard would begin anew at the top of the page.
  const same = [...main.querySelectorAll('a')].find(({ href }) => href === focused?.href);
  if (!focused?.isConnected) (now[at] ?? same)?.focus({ preventScroll: true });
}

const tablesIn = (main) => [...main.querySelectorAll('.scroll')];

function follow(main) {
  const { live, poll } = main.dataset;
  let fetching = false;
  let again = false;
  async function refresh() {
    if (fetching || isInUse(main)) {
      again = fetching;
      return;
    }
    fetching = true;
    try {
      await replace(main);
    } catch {
      // paygate is away for a moment: the next change brings it.
    } finally {
      fetching = false;
    }
    if (again) {
      again = false;
      await refresh();
    }
  }
  if (live !== undefined) {
    const news = new EventSource(live);
    news.addEventListener('message', refresh);
    // What changed since the page was made, or while the stream was away, is told by nobody.
    news.addEventListener('open', refresh);
    // Shut for good: the session is over, which the page itself says.
    news.addEventListener('error', () => news.readyState === EventSource.CLOSED && refresh());
  }
  if (poll !== undefined) setInterval(refresh, Number(poll));
}

const main = document.getElementById('main');
/** As it came, before anything is made of it here. */
let shown = main?.innerHTML;
enhance(document);
countDown();
setInterval(countDown, 1000);
if (main !== null) follow(main);
