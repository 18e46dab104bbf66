// The hourly allowance for questions to other servers, where many come at once.

import { afterEach, expect, it } from 'vitest';
import { createFallback } from '../../../src/watcher/proof/other-servers.ts';
import { open } from '../../electrum/open-session.ts';
import { cleanUp } from '../../support/files.ts';
import { createTestWorld } from '../../support/world.ts';

afterEach(cleanUp);

it('refuses no question while those under way may leave enough for it', async () => {
  const { session } = await open({});
  const fallback = createFallback(createTestWorld(), async function* () {
    yield { session, release: () => {} };
  });
  const asked = Array.from({ length: 40 }, () => fallback.askOther(session, async () => 'answer'));
  expect(new Set(await Promise.all(asked))).toEqual(new Set(['answer']));
});
