// What a page of the sandbox does with JavaScript beyond what it does without: when the server says that
// something has changed, the parts marked as live are fetched again and put in place.

let looking = false;
let again = false;

/** One look at a time, so that no older answer comes after a newer one. */
async function look() {
  again = true;
  if (looking) return;
  looking = true;
  try {
    while (again) {
      again = false;
      await refresh();
    }
  } catch {
    // The sandbox does not answer; when the stream is back, it is looked at again.
  } finally {
    looking = false;
  }
}

async function refresh() {
  const response = await fetch(location.href);
  if (!response.ok) return;
  const fresh = new DOMParser().parseFromString(await response.text(), 'text/html');
  for (const part of document.querySelectorAll('[data-live]')) {
    const other = fresh.getElementById(part.id);
    if (other === null || other.innerHTML === part.innerHTML) continue;
    part.replaceChildren(...other.childNodes);
  }
}

const changes = new EventSource('/events');
changes.addEventListener('change', look);
// What changed before the stream was there was told to nobody.
changes.addEventListener('open', look);
