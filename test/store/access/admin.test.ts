// People who sign in, in the file: the owner is the first row, viewers are all others.

import { afterEach, expect, test } from 'vitest';
import { createSignInLink } from '../../../src/dashboard/guard/sign-in-link.ts';
import { passkeys, recoveryCodes, sessions } from '../../../src/store/schema/admin-schema.ts';
import { cleanUp } from '../../support/files.ts';
import { now, openTestStore } from '../../support/store.ts';
import { createTestWorld } from '../../support/world.ts';

afterEach(cleanUp);

const session = (token: string) => ({ token, client: '192.0.2.1', agent: 'test' });

test('a viewer needs an owner, and has another number than any person before', async () => {
  const { admin, database } = await openTestStore();
  const add = (name: string) => database.write((tx) => admin.addViewer(tx, now, name));
  await expect(add('Anna')).rejects.toThrow('there is no owner yet');
  await database.write((tx) => admin.setPassword(tx, now, 'hash'));
  expect(admin.hasViewers()).toBe(false);
  expect(await add('Anna')).toMatchObject({ id: 2, name: 'Anna', passwordHash: '' });
  expect(admin.hasViewers()).toBe(true);
  await database.write((tx) => admin.removeViewer(tx, 2));
  expect((await add('Anna')).id).toBe(3);
  expect(['ＡＮＮＡ', 'anna', 'Admin', 'Bea'].map((name) => admin.personNamed(name)?.id)).toEqual([
    3,
    3,
    1,
    undefined,
  ]);
});

test('whoever is removed leaves no session, code, passkey or link; the owner stays', async () => {
  const records = await openTestStore();
  const { admin, database } = records;
  await database.write((tx) => {
    admin.setPassword(tx, now, 'hash');
    admin.addViewer(tx, now, 'Anna');
    for (const id of [1, 2]) {
      const account = admin.of(id);
      account.begin(tx, now, session(`token ${id}`));
      account.setRecoveryCodes(tx, [`code ${id}`]);
      account.addLink(tx, now, `link ${id}`);
      account.addPasskey(tx, now, {
        ...{ credentialId: `passkey ${id}`, publicKey: Buffer.from([id]), counter: 0 },
        ...{ transports: '', rpId: 'localhost', origin: 'http://localhost', name: 'Phone' },
      });
    }
  });
  const left = () => [
    ...[sessions, recoveryCodes, passkeys].map(
      (table) => database.orm.select().from(table).all().length,
    ),
    [1, 2].map((id) => admin.linkedPerson(now, `link ${id}`)),
  ];
  expect(left()).toEqual([2, 2, 2, [1, 2]]);
  expect(await database.write((tx) => admin.removeViewer(tx, 1))).toBeUndefined();
  expect(await database.write((tx) => admin.removeViewer(tx, 9))).toBeUndefined();
  expect(left()).toEqual([2, 2, 2, [1, 2]]);
  expect(await database.write((tx) => admin.removeViewer(tx, 2))).toMatchObject({ name: 'Anna' });
  expect(left()).toEqual([1, 1, 1, [1, undefined]]);
  expect(admin.operator()).toBeDefined();
  // Between a form of the owner and its link, the viewer may be removed.
  await expect(createSignInLink(records, createTestWorld(), '', 2)).rejects.toThrow('was removed');
});

test('what one person changes is not another’s', async () => {
  const { admin, database } = await openTestStore();
  const viewer = admin.of(2);
  await database.write((tx) => {
    admin.setPassword(tx, now, 'hash');
    admin.addViewer(tx, now, 'Anna');
    admin.setTotp(tx, 'OWNER', 7);
    viewer.setTotp(tx, 'VIEWER', 5);
    admin.setRecoveryCodes(tx, ['of the owner']);
    viewer.setRecoveryCodes(tx, ['of Anna', 'another of Anna']);
    for (const id of [1, 2]) admin.of(id).begin(tx, now, session(`token ${id}`));
  });
  const write = <T>(work: Parameters<typeof database.write<T>>[0]) => database.write(work);
  expect(await write((tx) => viewer.takeStep(tx, 6))).toBe(true);
  expect(await write((tx) => admin.takeStep(tx, 7))).toBe(false);
  expect(await write((tx) => viewer.useRecoveryCode(tx, 'of the owner'))).toBe(false);
  expect([admin.recoveryCodesLeft(), viewer.recoveryCodesLeft()]).toEqual([1, 2]);
  const handles = [admin, viewer].map((account, at) =>
    write((tx) => account.passkeyUser(tx, Buffer.from([at]))),
  );
  expect(await Promise.all(handles)).toEqual([Buffer.from([0]), Buffer.from([1])]);
  expect(admin.operator()?.totpSecret).toBe('OWNER');
  // A session ends by its hash only for its own person.
  const [own] = viewer.sessions(now);
  expect([admin.sessions(now).length, viewer.sessions(now).length]).toEqual([1, 1]);
  expect(await write((tx) => admin.endByHash(tx, own?.hash as Buffer))).toBe(false);
  await write((tx) => admin.endOthers(tx, -1));
  expect([admin.sessions(now).length, viewer.sessions(now).length]).toEqual([0, 1]);
  await write((tx) => viewer.setPassword(tx, now, 'new'));
  expect(viewer.sessions(now)).toEqual([]);
  expect([admin.operator()?.passwordHash, viewer.person()?.passwordHash]).toEqual(['hash', 'new']);
});
