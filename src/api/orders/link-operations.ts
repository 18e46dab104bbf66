// Links for shops (docs/links.md): make, list, read, change. Strangers order by a link on its page
// (checkout/link-order.ts), never here.

import { isDeepStrictEqual } from 'node:util';
import * as z from 'zod';
import { parseLinkChange, parseLinkInput } from '../../domain/order/link-input.ts';
import { idBytes, idOf, isId } from '../../domain/order/order-id.ts';
import { PaygateError } from '../../lib/errors.ts';
import type { Key } from '../../store/access/api-keys.ts';
import type { Records } from '../../store/open-records.ts';
import type { LinkRow } from '../../store/orders/link-view.ts';
import { clientAddressOf } from '../../web/limits/request-origin.ts';
import type { ApiOptions } from '../api-parts.ts';
import { placeOf } from '../chosen-store.ts';
import { bodyHashOf, idempotencyHeaders, idempotencyKeyOf } from '../idempotency-key.ts';
import { type ListPlace, listed, listQuery } from '../listed.ts';
import { type Operation, operation } from '../operation.ts';
import {
  linkAnswer,
  linkChangeBody,
  linkPage,
  newLinkBody,
  newLinkExample,
} from './link-schemas.ts';

type LinkOptions = Pick<ApiOptions, 'records' | 'now' | 'proxies' | 'randomBytes' | 'checkIssuing'>;

export const linkOperations = (options: LinkOptions): Operation[] => [
  createLink(options),
  listLinks(options),
  getLink(options),
  changeLink(options),
];

function shown({ linkView }: Records, row: LinkRow) {
  const link = linkView.json(row);
  return { ...link, suggested: [...link.suggested], suggested_sat: [...link.suggested_sat] };
}

const createLink = ({ records, now, proxies, randomBytes, checkIssuing }: LinkOptions): Operation =>
  operation({
    tag: 'Links',
    name: 'createLink',
    methods: ['POST'],
    path: '/v3/links',
    summary: 'A new link, by which strangers make orders',
    conflict: 'The Idempotency-Key had another body',
    limit: 'write',
    headers: idempotencyHeaders('the same link, as it is then,'),
    codes: [1001, 1032],
    body: newLinkBody,
    example: newLinkExample,
    answer: linkAnswer,
    async run({ body, key, context }) {
      const { storeId } = placeOf(records, { key, target: { id: body.store_id ?? undefined } });
      const input = parseLinkInput(body);
      const link = {
        ...input,
        storeId,
        publicId: idOf('lnk', randomBytes(idBytes)),
        idempotencyKey: idempotencyKeyOf(context),
        bodyHash: bodyHashOf(body),
      };
      checkIssuing();
      const row = await records.database.write((tx) => {
        const before = records.links.madeBefore(now(), link);
        if (before !== undefined) return before;
        const detail = { link: link.publicId, client: clientAddressOf(context, proxies) };
        records.audit.note(tx, now(), { keyId: key.id, storeId, action: 'link.add', detail });
        return records.links.create(tx, now(), link);
      }, 'awaited');
      return shown(records, row);
    },
  });

const listLinks = ({ records }: LinkOptions): Operation =>
  operation({
    tag: 'Links',
    name: 'listLinks',
    methods: ['GET'],
    path: '/v3/links',
    summary: 'Links, the newest first',
    query: z.object(listQuery('link')),
    answer: linkPage,
    run({ query, key }) {
      const { after } = query;
      const beforeId = after === undefined ? undefined : linkOf(records, key, after).id;
      const read = (place: ListPlace) => records.linkView.list({ ...place, beforeId });
      const { data, has_more } = listed(records, key, query, read);
      return { data: data.map((row) => shown(records, row)), has_more };
    },
  });

const params = z.object({ id: z.string().describe('`lnk_…`') });

/** @throws PaygateError not_found, also for a link of another key's store */
export function linkOf(
  { linkView }: Pick<Records, 'linkView'>,
  key: Key,
  publicId: string,
): LinkRow {
  const row = isId('lnk', publicId) ? linkView.byPublicId(publicId) : undefined;
  if (row !== undefined && (key.storeId === null || key.storeId === row.storeId)) return row;
  throw new PaygateError('not_found', 'There is no such link');
}

const getLink = ({ records }: LinkOptions): Operation =>
  operation({
    tag: 'Links',
    name: 'getLink',
    methods: ['GET'],
    path: '/v3/links/{id}',
    summary: 'One link',
    params,
    answer: linkAnswer,
    run: ({ params, key }) => shown(records, linkOf(records, key, params.id)),
  });

const changeLink = ({ records, now, proxies, checkIssuing }: LinkOptions): Operation =>
  operation({
    tag: 'Links',
    name: 'changeLink',
    methods: ['POST'],
    path: '/v3/links/{id}',
    summary: 'Changes a link, or switches it off; its orders stay as they are',
    limit: 'write',
    params,
    body: linkChangeBody,
    example: { active: false },
    answer: linkAnswer,
    async run({ params, body, key, context }) {
      checkIssuing();
      const row = await records.database.write((tx) => {
        const before = linkOf(records, key, params.id);
        const after = records.links.change(tx, before.id, parseLinkChange(before, body));
        if (isDeepStrictEqual(before, after)) return after;
        const detail = { link: params.id, ...body, client: clientAddressOf(context, proxies) };
        const entry = { keyId: key.id, storeId: before.storeId, detail };
        records.audit.note(tx, now(), { ...entry, action: 'link.change' });
        return after;
      }, 'awaited');
      return shown(records, row);
    },
  });
