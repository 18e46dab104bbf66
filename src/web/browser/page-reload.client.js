// Inline in the head of pages with a script file. A live page is loaded again if that never arrives.
// It stays shown while the server does not answer, and while its reader uses a field or a detail.
setInterval(async () => {
  const isDue = () =>
    !self.isLive &&
    document.querySelector('[data-live], [data-poll]') &&
    !document.querySelector('form :focus, main details[open]:not(.passing)') &&
    // The first option of a list is selected by default.
    ![...document.querySelectorAll('input, textarea, option + option')].some(
      (field) =>
        field.value !== (field.defaultValue ?? field.value) ||
        field.checked !== field.defaultChecked ||
        field.selected !== field.defaultSelected,
    );
  if (!isDue()) return;
  // The referrer of both requests is the page itself, so neither prolongs a session.
  const url = location.pathname + location.search;
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(6000) });
    await response.text();
    if (response.ok && isDue()) location.replace(url);
  } catch {
    // The next attempt follows.
  }
}, 20_000);
