// The two lists of the Deliveries section.

import { base, type PageRequest } from '../../page.ts';

const lists = [
  ['/callbacks', 'Callbacks'],
  ['/events', 'Webhook events'],
] as const;

export const DeliveryTabs = ({ request }: { readonly request: PageRequest }) => (
  <nav class="tabs" aria-label="Deliveries">
    {lists.map(([path, name]) => (
      <a href={base + path} aria-current={request.url.startsWith(base + path) ? 'page' : undefined}>
        {name}
      </a>
    ))}
  </nav>
);
