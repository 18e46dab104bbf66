// Passkeys on pages with a button for them. Without this script, without WebAuthn, and on pages that
// have no passkeys, the button stays hidden and the password works as before.

const isSupported = 'parseRequestOptionsFromJSON' in (globalThis.PublicKeyCredential ?? {});

const reasons = {
  NotAllowedError: 'Canceled, or this device has no passkey of this paygate.',
  InvalidStateError: 'This device already has a passkey of this paygate.',
  SecurityError: 'Passkeys do not work at this address.',
};

function show() {
  for (const button of document.querySelectorAll('button.unready[data-passkey]')) {
    button.classList.remove('unready');
  }
  for (const note of document.querySelectorAll('[data-without-passkeys]')) note.remove();
}

/** The request to the browser, which `newPasskey` has or the server makes at the press of a button. */
async function ask({ form, dataset }) {
  const body = new URLSearchParams({ token: form.elements.token.value, do: 'ask-passkey' });
  const response = await fetch(dataset.passkey, { method: 'POST', body });
  if (response.status === 409) throw new Error(reasons.SecurityError);
  if (!response.ok || response.redirected) throw new Error('Reload the page and try again.');
  return PublicKeyCredential.parseRequestOptionsFromJSON(await response.json());
}

async function credentialFor(button) {
  const { newPasskey } = button.dataset;
  if (newPasskey === undefined) return navigator.credentials.get({ publicKey: await ask(button) });
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(JSON.parse(newPasskey));
  return navigator.credentials.create({ publicKey });
}

async function use(button) {
  const { form } = button;
  const status = form.querySelector('[data-passkey-status]');
  status.textContent = '';
  button.disabled = true;
  try {
    const credential = await credentialFor(button);
    const answer = form.elements.passkey ?? form.elements['passkey-new'];
    answer.value = JSON.stringify(credential);
    // The passkey replaces these, so the browser must not insist on them.
    for (const name of ['password', 'code', 'recovery-code']) {
      if (form.elements[name]) form.elements[name].disabled = true;
    }
    form.requestSubmit();
  } catch (error) {
    status.textContent = reasons[error.name] ?? error.message;
    button.disabled = false;
  }
}

if (isSupported) {
  show();
  // Parts of a page may be replaced while it is shown.
  new MutationObserver(show).observe(document.body, { childList: true, subtree: true });
  document.addEventListener('click', ({ target }) => {
    const button = target.closest('button[data-passkey]');
    if (button !== null) use(button);
  });
}
