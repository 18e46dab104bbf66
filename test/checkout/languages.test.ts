// In which language the page of an order is, and that its forms and links keep the choice.

import { afterEach, expect, test } from 'vitest';
import { closeApps } from '../support/app.ts';
import { openTill, quoteMs, type Till } from '../support/checkout.ts';
import { cleanUp } from '../support/files.ts';
import { visitorOf } from '../support/visitor.ts';

afterEach(closeApps);
afterEach(cleanUp);

async function languageOf({ app, path }: Till, query = '', accept = ''): Promise<string> {
  const { text } = await visitorOf(app).get(path + query, { 'Accept-Language': accept });
  return /<html lang="([^"]+)" dir="[a-z]+">/.exec(text)?.[1] ?? '';
}

const setLanguage = ({ app }: Till, language: string | null): Promise<unknown> =>
  app.withStore(({ database, catalog }) =>
    database.write((tx) => catalog.changeStore(tx, 1, { language })),
  );

test('the customer chooses before the order, that before the store, that before the browser', async () => {
  const till = await openTill({ language: 'de-AT' });
  expect(await languageOf(till, '?lang=ar', 'en')).toBe('ar');
  expect(await languageOf(till, '?lang=tlh', 'en')).toBe('de');
  expect(await languageOf(till, '', 'ar')).toBe('de');
  const free = { ...till, path: `/o/${(await till.app.order({ amount_sat: 10_000 })).id}` };
  expect(await languageOf(free, '', 'ar')).toBe('ar');
  await setLanguage(till, 'de');
  expect(await languageOf(free, '', 'ar')).toBe('de');
  expect(await languageOf(till, '', 'ar')).toBe('de');
});

test('a browser without a language of ours reads English', async () => {
  const till = await openTill();
  expect(await languageOf(till, '', '')).toBe('en');
  expect(await languageOf(till, '', `${'x-'.repeat(3_000)}`)).toBe('en');
});

test('the button for a new price keeps the language, also where it fails', async () => {
  const till = await openTill();
  const visitor = visitorOf(till.app);
  await till.app.world.advance(quoteMs);
  const page = await visitor.get(`${till.path}?lang=de`);
  const [, action = ''] = /action="([^"]+)"/.exec(page.text) ?? [];
  expect(action).toBe(`${till.id}/quote?lang=de`);
  const { rates } = till.app.market;
  till.app.market.rates = undefined;
  const failed = await visitor.post(`/o/${action}`, '');
  expect([failed.status, failed.text.includes('Im Moment kein Preis')]).toEqual([503, true]);
  expect(failed.text).toContain(`href="../${till.id}?lang=de"`);
  // It answers a form: a link to it with another language would be a 404.
  expect(failed.text).not.toContain('hreflang');
  till.app.market.rates = rates;
  await till.app.world.advance(60_000);
  expect((await visitor.post(`/o/${action}`, '')).to).toBe(`../${till.id}?lang=de`);
});

test('an error is in the language of the order, and an unknown order in that of the browser', async () => {
  const till = await openTill({ language: 'de' });
  const visitor = visitorOf(till.app);
  const forbidden = await visitor.post(`${till.path}/quote`, '', { Origin: 'null' });
  expect(forbidden.text).toContain('Das hat nicht geklappt');
  const unknown = await visitor.get('/o/ord_3yQ8tZr6WmB1nK5vXc2dLq', { 'Accept-Language': 'ar' });
  expect([unknown.status, unknown.text.includes('dir="rtl"')]).toEqual([404, true]);
});

test('the picker has each language in its own name, and marks that of the page', async () => {
  const till = await openTill();
  const { text } = await visitorOf(till.app).get(`${till.path}?lang=ar`);
  expect(text).toMatch(/<a href="\?lang=de" lang="de" hreflang="de" dir="ltr"[^>]*>Deutsch<\/a>/);
  expect(text).toMatch(/<a href="\?lang=ar"[^>]* aria-current="true">العربية<\/a>/);
  expect(text).toContain('<span lang="en"> (Language)</span>');
});

test('a wallet and a copy button get the amount with a point in every language', async () => {
  const till = await openTill();
  const { text } = await visitorOf(till.app).get(`${till.path}?lang=de`);
  expect(text).toContain('<bdi dir="ltr">0,00025000 BTC</bdi>');
  expect(text).toContain('<span id="amount" hidden="">0.00025000</span>');
  expect(text).toContain(`bitcoin:${till.address}?amount=0.00025&amp;`);
});
