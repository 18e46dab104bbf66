// The button that uses or makes a passkey, as part of a form. The script puts the browser's answer
// into the field `passkey` or `passkey-new` and sends the form.

import { assetPath } from '../assets.ts';
import { arePasskeysPossible, hasPasskeys } from '../guard/passkeys.ts';
import type { PageRequest } from '../page.ts';

interface PasskeyButtonProps {
  readonly label: string;
  /** Path of the page that has the action `ask-passkey`. */
  readonly asks?: string;
  /** What the browser is asked, to make a passkey. */
  readonly makes?: unknown;
}

/** Hidden until the script is ready. */
export const PasskeyButton = ({ label, asks = '', makes }: PasskeyButtonProps) => (
  <>
    <input type="hidden" name={makes === undefined ? 'passkey' : 'passkey-new'} value="" />
    <button
      type="button"
      class="unready other"
      data-passkey={asks}
      data-new-passkey={makes === undefined ? undefined : JSON.stringify(makes)}
    >
      {label}
    </button>
    <p role="status" data-passkey-status=""></p>
    <script type="module" src={assetPath('passkeyScript')}></script>
  </>
);

/** Whether a page can offer a passkey in place of the password. */
export const isPasskeyOffered = (request: PageRequest): boolean =>
  hasPasskeys(request) && arePasskeysPossible(request);
