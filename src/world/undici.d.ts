// Files of undici that are imported by themselves. Its index brings fetch, caches, mocks and
// WebSockets along, of which test/bundle.test.ts finds none in the bundle.

declare module 'undici/lib/dispatcher/client.js' {
  export { Client as default } from 'undici';
}

declare module 'undici/lib/api/api-request.js' {
  import type { Dispatcher } from 'undici';

  const request: Dispatcher['request'];
  export default request;
}

declare module 'undici/lib/core/connect.js' {
  export { buildConnector as default } from 'undici';
}
