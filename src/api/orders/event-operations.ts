// Events for shops that catch up after an outage (docs/orders.md), the oldest first.

import * as z from 'zod';
import { isId } from '../../domain/order/order-id.ts';
import { errorAt, PaygateError } from '../../lib/errors.ts';
import type { Key } from '../../store/access/api-keys.ts';
import type { EventRow } from '../../store/delivery/event-view.ts';
import type { ApiOptions } from '../api-parts.ts';
import { type ListPlace, listed, listQuery } from '../listed.ts';
import { type Operation, operation } from '../operation.ts';
import { type EventAnswer, eventAnswer, eventPage, eventQuery } from './order-schemas.ts';

type EventOptions = Pick<ApiOptions, 'records'>;

export const eventOperations = (options: EventOptions): Operation[] => [
  operation({
    tag: 'Events',
    name: 'listEvents',
    methods: ['GET'],
    path: '/v3/events',
    summary: 'Events, the oldest first, kept for 90 days',
    gone: 'The event of `after` is unknown: list the orders instead',
    query: z.object({ ...listQuery('event'), ...eventQuery }),
    answer: eventPage,
    run({ query, key }) {
      const { eventView } = options.records;
      const afterId = query.after === undefined ? undefined : cursorOf(options, key, query.after);
      const read = (place: ListPlace) => eventView.after({ ...place, type: query.type, afterId });
      const { data, has_more } = listed(options.records, key, query, read);
      return { data: data.map(shown), has_more };
    },
  }),
  operation({
    tag: 'Events',
    name: 'getEvent',
    methods: ['GET'],
    path: '/v3/events/{id}',
    summary: 'One event',
    params: z.object({ id: z.string().describe('`evt_…`') }),
    answer: eventAnswer,
    run({ params, key }) {
      const row = eventOf(options, key, params.id);
      if (row === undefined) throw new PaygateError('not_found', 'There is no such event');
      return shown(row);
    },
  }),
];

const shown = ({ publicId, body }: EventRow): EventAnswer => ({
  id: publicId,
  ...(JSON.parse(body) as Omit<EventAnswer, 'id'>),
});

function eventOf({ records }: EventOptions, key: Key, publicId: string): EventRow | undefined {
  const row = isId('evt', publicId) ? records.eventView.byPublicId(publicId) : undefined;
  if (row === undefined || row.type.startsWith('Invoice')) return undefined;
  return key.storeId === null || key.storeId === row.storeId ? row : undefined;
}

/** @throws PaygateError gone if the event is unknown, or too old */
function cursorOf(options: EventOptions, key: Key, publicId: string): number {
  const row = eventOf(options, key, publicId);
  if (row !== undefined) return row.id;
  throw errorAt(
    'gone',
    'after',
    'this event is unknown, or older than 90 days; list the orders (GET /api/v3/orders), ' +
      'then go on from the newest event',
  );
}
