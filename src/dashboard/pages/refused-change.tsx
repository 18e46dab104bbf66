// Pages for those who may not see another one: an error, and plain HTTP that others could listen on.

import { NarrowPage } from '../layout.tsx';
import { base } from '../page.ts';

export const errorPage = (message: string) => (
  <NarrowPage title="Not possible">
    <p role="alert" class="problem">
      {message}
    </p>
    <p>
      <a href={base}>To the dashboard</a>
    </p>
  </NarrowPage>
);

export const httpsPage = () => (
  <NarrowPage title="This connection is not private">
    <p>
      Whoever listens on the way here could read your password, so the dashboard is not shown over
      plain HTTP. There are two ways to it:
    </p>
    <h2>From the machine of paygate, or through SSH</h2>
    <p>Open a tunnel from your own computer, and then the address below it in your browser:</p>
    <pre>
      <code>ssh -L 8080:127.0.0.1:8080 you@your-server</code>
    </pre>
    <p>
      <code>http://127.0.0.1:8080/dashboard</code>
    </p>
    <h2>With HTTPS</h2>
    <p>
      Where a name of yours leads to ports 80 and 443 of this machine, paygate gets a certificate:
    </p>
    <pre>
      <code>paygate serve --domain pay.example.com</code>
    </pre>
    <p>Or let a proxy on the same machine serve HTTPS and pass requests on, such as Caddy:</p>
    <pre>
      <code>caddy reverse-proxy --from pay.example.com --to 127.0.0.1:8080</code>
    </pre>
    <p>and tell paygate to believe what that proxy says of the connection:</p>
    <pre>
      <code>paygate serve --trusted-proxy 127.0.0.1 --public-url https://pay.example.com</code>
    </pre>
  </NarrowPage>
);
