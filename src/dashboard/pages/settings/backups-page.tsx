// The backups beside the database, a button that makes one, and their download. A backup contains
// every secret of the database, so a download requires the password.

import { Readable } from 'node:stream';
import { listBackups, readBackup } from '../../../store/file/backup.ts';
import { Time } from '../../../web/values.tsx';
import { recordChange } from '../../guard/audit-entry.ts';
import { requireRecentPassword } from '../../guard/dashboard-session.ts';
import { type ActionResult, base, field, type Page, type PageRequest } from '../../page.ts';
import { chosenBefore, Form, Select } from '../../parts/form-parts.tsx';
import { DoneNote, Layout } from '../../parts/layout.tsx';
import { queryText } from '../../parts/listing.tsx';

const here = `${base}/settings/backups`;

export const backupsPage: Page = {
  path: '/settings/backups',
  show: (request) => backupsMarkup(request),
  actions: { 'back-up': backUp, download },
};

function backupsMarkup(request: PageRequest) {
  const files = listBackups(request.parts.records.database.path);
  const [newest] = files;
  return (
    <Layout request={request} title="Backups">
      <DoneNote request={request} />
      {newest === undefined ? (
        <p class="alarm">There is no backup yet. paygate makes one soon after something changes.</p>
      ) : (
        <>
          <p>
            The newest was written <Time at={newest.at} />. A backup contains the API keys of your
            shops: store it as safely as a key.
          </p>
          <Form request={request} action="download" button="Download" needsPassword>
            <Select
              name="file"
              label="Backup"
              options={files.map(({ name, bytes }) => [name, `${name}, ${sizeOf(bytes)}`] as const)}
              chosen={chosenBefore(request, 'download', 'file') ?? queryText(request, 'file')}
            />
          </Form>
        </>
      )}
      <Form request={{ ...request, url: here }} action="back-up" button="Back up now" />
      <p>
        <code>paygate restore</code> restores one.
      </p>
    </Layout>
  );
}

const sizeOf = (bytes: number): string => `${(bytes / 1_000_000).toFixed(1)} MB`;

async function backUp(request: PageRequest): Promise<ActionResult> {
  const { records, requestedBackups } = request.parts;
  const file = await requestedBackups.make(request.now);
  await records.database.write((tx) => recordChange(request, tx, 'backup.make', { file }));
  return { to: `${here}?done=backup-made&file=${file}` };
}

async function download(request: PageRequest): Promise<ActionResult> {
  const name = field(request, 'file');
  await requireRecentPassword(request);
  const { database } = request.parts.records;
  await database.write((tx) => recordChange(request, tx, 'backup.download', { file: name }));
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
