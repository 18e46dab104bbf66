// Records refused changes of stores while "Connect a plugin" is open, because plugins hardly show
// the reason. They are logged, and the dashboard shows the last one. A secret of a Callback URL is
// never recorded.

import type { Context } from 'hono';
import { redactUrl } from '../domain/delivery/callback.ts';
import { plainText } from '../domain/text/format.ts';
import { PaygateError, reasonOf } from '../lib/errors.ts';
import { isPluginOpen } from '../store/access/api-keys.ts';
import { httpStatusOf } from '../web/error-body.ts';
import { createRefusalLog } from '../web/limits/refused-requests.ts';
import { clientAddressOf } from '../web/limits/request-origin.ts';
import type { ApiOptions } from './api-parts.ts';
import { type AuthParts, keyOf } from './authentication.ts';
import type { KeyedOperation } from './operation.ts';

export type RefusedChanges = ReturnType<typeof createRefusedChanges>;

const maxReasonLength = 400;

export function createRefusedChanges(
  parts: AuthParts & Pick<ApiOptions, 'records' | 'log' | 'monotonic'>,
) {
  const { records, now, log, proxies } = parts;
  // Limits of their own, so that refusals while no window was open use up none of them.
  const logged = createRefusalLog(log, parts.monotonic);
  const unlogged = createRefusalLog({ ...log, warn: () => {} }, parts.monotonic);
  return {
    /**
     * Resolves when it is stored. Never rejects.
     * @param isLogged whether the log has it already
     */
    async note(
      { path }: KeyedOperation,
      context: Context,
      error: unknown,
      isLogged: boolean,
    ): Promise<void> {
      const key = keyOf(parts, context);
      const isRefusal = error instanceof PaygateError && httpStatusOf(error) < 500;
      if (key === undefined || !isRefusal) return;
      if (!records.keys.list(now()).some((each) => isPluginOpen(each, now()))) return;
      const reason = withoutUrls(error.message);
      const client = clientAddressOf(context, proxies);
      const { note } = isLogged ? unlogged : logged;
      if (!note({ client, path, reason, key: key.id })) return;
      try {
        const refused = { keyId: key.id, at: now(), path, reason };
        await records.database.write((tx) => records.state.refusedChange.write(tx, refused));
      } catch (fault) {
        log.warn('a refused change could not be stored', { reason: reasonOf(fault) });
      }
    },
  };
}

/** Removes proposed URLs, which repeat the secret of the sent URL, and redacts all others. */
const withoutUrls = (message: string): string =>
  plainText(
    message
      .replace(/(write it as) https?:.*$/is, '$1 the answer to the plugin says')
      .replace(/\bhttps?:\/\/[^\s,]+/gi, redactUrl),
    maxReasonLength,
  );
