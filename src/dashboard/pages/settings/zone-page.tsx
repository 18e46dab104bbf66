// The time zone of the merchant: its days are those of cards, lists, files and mails.

import { knownZones, parseZone } from '../../../domain/text/time-zone.ts';
import { recordChange } from '../../guard/audit-entry.ts';
import { type ActionResult, type Page, type PageRequest, zonePath } from '../../page.ts';
import { readFields } from '../../parts/form-fields.ts';
import { Field, Form } from '../../parts/form-parts.tsx';
import { DoneNote, Layout } from '../../parts/layout.tsx';
import { zoneOf } from '../../parts/listing.tsx';

export const zonePage: Page = {
  path: '/settings/time-zone',
  show: (request) => (
    <Layout request={request} title="Time zone">
      <DoneNote request={request} />
      <p>
        A day begins at midnight in this zone: for sums, the chart, lists with days, files for
        accounts, tills and mails. Times with “UTC” beside them stay in UTC.
      </p>
      <Form request={request} action="save-zone" button="Save">
        <Field
          request={request}
          name="zone"
          label="Time zone"
          value={zoneOf(request)}
          help="Type a city, such as Berlin or New_York, and choose its zone."
          attributes={{ list: 'zones', autocomplete: 'off', spellcheck: 'false' }}
        />
        <datalist id="zones">
          {knownZones().map((zone) => (
            <option value={zone} />
          ))}
        </datalist>
      </Form>
    </Layout>
  ),
  actions: { 'save-zone': save },
};

async function save(request: PageRequest): Promise<ActionResult> {
  const { state, database } = request.parts.records;
  const zone = readFields(request, (read) => read('zone', 'Time zone', parseZone));
  await database.write((tx) => {
    state.timeZone.write(tx, zone);
    recordChange(request, tx, 'zone.set', { zone });
  });
  return { to: `${zonePath}?done=saved` };
}
