// Pages in place of another: an error, the advice for plain HTTP from another machine, a link on.

import { base } from '../page.ts';
import { NarrowPage } from './layout.tsx';

export const errorPage = (message: string, title = 'Error') => (
  <NarrowPage title={title}>
    <p role="alert" class="problem">
      {message}
    </p>
    <p>
      <a href={base}>Go to the dashboard</a>
    </p>
  </NarrowPage>
);

/** Leads on by itself, with the header Refresh. */
export const continuePage = (url: string) => (
  <NarrowPage title="One moment">
    <p>
      <a href={url}>Continue</a>
    </p>
  </NarrowPage>
);

export const httpsPage = () => (
  <NarrowPage title="This connection is not private">
    <p>
      Anyone on the network could read your password, so the dashboard is not available over plain
      HTTP. There are two ways to reach it:
    </p>
    <h2>From the machine of paygate, or through SSH</h2>
    <p>Open a tunnel from your own computer, then open the address below in your browser:</p>
    <pre>
      <code>ssh -L 8080:127.0.0.1:8080 you@your-server</code>
    </pre>
    <p>
      <code>http://127.0.0.1:8080/dashboard</code>
    </p>
    <h2>With HTTPS</h2>
    <p>
      If a domain name of yours leads to ports 80 and 443 of this machine, paygate obtains a
      certificate:
    </p>
    <pre>
      <code>paygate serve --domain pay.example.com</code>
    </pre>
    <p>Or let a proxy on the same machine serve HTTPS and pass requests on, such as Caddy:</p>
    <pre>
      <code>caddy reverse-proxy --from pay.example.com --to 127.0.0.1:8080</code>
    </pre>
    <p>and let paygate trust that proxy:</p>
    <pre>
      <code>paygate serve --trusted-proxy 127.0.0.1 --public-url https://pay.example.com</code>
    </pre>
  </NarrowPage>
);
