// Says that only this machine can open the URLs that paygate hands out, and how that ends.

import { isThisMachineName } from '../../domain/access/client-address.ts';

/** Nothing for a URL that other machines can open. */
export const LocalNote = ({ url }: { readonly url: string }) => {
  const { hostname, origin } = new URL(url);
  const name = hostname.replace(/^\[|\]$/g, '');
  // The last two stand for every address of this machine, and are none that a phone can open.
  return isThisMachineName(name) || ['0.0.0.0', '::'].includes(name) ? (
    <p class="alarm" data-local-only="">
      Only this machine can open {origin}, so no phone can pay there. Before you hand it out, give
      paygate a public address: start serve with <code>--domain pay.example.com</code>, or with{' '}
      <code>--public-url</code> if a proxy has HTTPS.
    </p>
  ) : null;
};
