// Inline in the head of pages with a script file. A live page is loaded again if that never arrives.
// A reload whose referrer is the page itself does not prolong a session.
setTimeout(() => {
  if (self.isLive || !document.querySelector('[data-live], [data-poll]')) return;
  location.replace(location.pathname + location.search);
}, 20_000);
