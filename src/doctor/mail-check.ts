// The doctor's check of the mail server: it connects, encrypts and signs in, and sends no mail.

import type { MailServer } from '../domain/delivery/notification-settings.ts';
import { type MailParts, verifyMailServer } from '../notify/mail-connection.ts';
import { type Check, fail, ok } from './doctor-check.ts';

/** @param server undefined without one: there is nothing to check then */
export const mailChecks = (parts: MailParts, server: MailServer | undefined): Check[] =>
  server === undefined
    ? []
    : [
        {
          name: 'mail',
          async run(signal) {
            const { host, port, security, user } = server;
            const fault = await verifyMailServer(parts, server, signal);
            if (fault !== undefined) return fail(`mail server ${fault.reason}`);
            const how = security === 'none' ? 'without TLS' : `by ${security.toUpperCase()}`;
            const who = user === null ? '' : `, and accepts the password of ${user}`;
            return ok(`mail server ${host}:${port} answers ${how}${who}`);
          },
        },
      ];
