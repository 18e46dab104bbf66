// The copies of the database that lie beside it, and their download. A copy holds every secret that the
// database holds, so it is only sent after the password.

import { Readable } from 'node:stream';
import { listBackups, readBackup } from '../../store/backup/backup.ts';
import { note } from '../audit-entry.ts';
import { requireFresh } from '../dashboard-session.ts';
import { Form, Layout, Select, sentChoice, Time } from '../layout.tsx';
import { field, type Outcome, type Page, type Visit } from '../page.ts';

export const backupsPage: Page = {
  path: '/settings/backups',
  show: (visit) => backups(visit),
  actions: { download },
};

function backups(visit: Visit) {
  const files = listBackups(visit.parts.store.database.path);
  const [newest] = files;
  return (
    <Layout visit={visit} title="Backups">
      {newest === undefined ? (
        <p class="alarm">
          There is none yet. paygate takes one by itself soon after something changed.
        </p>
      ) : (
        <>
          <p>
            The newest was written at <Time at={newest.at} />. Whoever has a copy has the keys of
            your shops: keep it like one.
          </p>
          <Form visit={visit} does="download" button="Download" confirm>
            <Select
              name="file"
              label="Copy"
              options={files.map(({ name, bytes }) => [name, `${name}, ${sizeOf(bytes)}`] as const)}
              chosen={sentChoice(visit, 'download', 'file')}
            />
          </Form>
        </>
      )}
      <p>
        <code>paygate backup</code> writes one at once, <code>paygate restore</code> puts one back.
      </p>
    </Layout>
  );
}

const sizeOf = (bytes: number): string => `${(bytes / 1_000_000).toFixed(1)} MB`;

async function download(visit: Visit): Promise<Outcome> {
  const name = field(visit, 'file');
  await requireFresh(visit);
  const { database } = visit.parts.store;
  await database.write((tx) => note(visit, tx, 'backup.download', { file: name }));
  const { stream, bytes } = readBackup(database.path, name);
  return {
    send: new Response(Readable.toWeb(stream) as ReadableStream, {
      headers: {
        'Content-Type': 'application/vnd.sqlite3',
        'Content-Length': String(bytes),
        'Content-Disposition': 'attachment; filename="paygate-backup.db"',
      },
    }),
  };
}
