// The audit log in sentences: what each action did, in the words of the dashboard.

import type { AuditAction, AuditRow } from '../../store/access/audit.ts';

/** The values that an entry was written with. Another version may have written others. */
type Detail = Readonly<Record<string, unknown>>;

const text = (value: unknown): string =>
  typeof value === 'string' || typeof value === 'number' ? String(value) : '?';

/** `1 delivery`, `3 deliveries` */
const counted = (count: unknown, one: string, many: string): string =>
  `${text(count)} ${count === 1 ? one : many}`;

const listed = (ids: unknown, one: string, many: string): string =>
  Array.isArray(ids) ? counted(ids.length, one, many) : `some ${many}`;

const byLink = (by: unknown): string => (by === 'link' ? ' through a sign-in link' : '');
const atFirstStart = (by: unknown): string => (by === 'first start' ? ' at the first start' : '');

/** Names of settings for people, if the name in the entry is not made of plain words. */
const settingNames: Readonly<Record<string, string>> = {
  http_callback: 'Callback URL',
  adjustBasisPoints: 'discount or surcharge',
  own_callback_ca: 'certificate authority of the Callback URL',
};

/** `: name, Callback URL`: the settings that were saved, without their values. */
function settings(detail: Detail): string {
  const names = Object.keys(detail).filter((name) => name !== 'client' && name !== 'person');
  const words = names.map((name) => settingNames[name] ?? wordsOf(name));
  return words.length === 0 ? '' : `: ${words.join(', ')}`;
}

/** `payment_window` and `paymentWindow` as `payment window` */
const wordsOf = (name: string): string =>
  name.replace(/_/g, ' ').replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);

type Sentence = string | ((detail: Detail) => string);

const sentences: Readonly<Record<AuditAction, Sentence>> = {
  'admin.link': ({ viewer }) =>
    viewer === undefined
      ? 'A sign-in link was made'
      : `A sign-in link for ${text(viewer)} was made`,
  'alarm.dismiss': 'An alarm was marked as done',
  'backup.download': ({ file }) => `The backup ${text(file)} was downloaded`,
  'backup.make': ({ file }) => `The backup ${text(file)} was made`,
  'branch.follow': ({ server }) => `The chain of the server ${text(server)} is followed`,
  'callback.resend': ({ ids }) => `${listed(ids, 'delivery was', 'deliveries were')} sent again`,
  'callback.resend-doubtful': ({ count }) =>
    `${counted(count, 'doubtful delivery was', 'doubtful deliveries were')} sent again`,
  'callback.resend-failed': ({ count }) =>
    `${counted(count, 'failed delivery was', 'failed deliveries were')} sent again`,
  'callback.test': ({ value, addr, status }) =>
    `A test payment of ${text(value)} sat to ${text(addr)} was sent with status ${text(status)}`,
  'event.resend': ({ ids }) => `${listed(ids, 'event was', 'events were')} sent again`,
  'event.resend-failed': ({ count }) =>
    `${counted(count, 'failed event was', 'failed events were')} sent again`,
  'key.add': ({ scope, for: host }) =>
    `An API key with the scope “${text(scope)}” was added${host === undefined ? '' : ` for ${text(host)}`}`,
  'key.reveal': 'The merchant API key was shown',
  'key.revoke': ({ key }) => `The API key ${text(key)} was revoked`,
  'key.rotate': 'The merchant API key was replaced',
  'link.add': ({ link }) => `The payment link ${text(link)} was made`,
  'link.change': ({ link }) => `The payment link ${text(link)} was changed`,
  'notify.mail': 'The mail server was set',
  'notify.mail-off': 'The mail server was removed',
  'notify.recipients': 'The recipients of notifications were changed',
  'notify.reveal-secret': 'The secret that signs notifications was shown',
  'order.accept': ({ order, by }) =>
    `The order ${text(order)} was accepted as paid${by === 'mail' ? ' through the link of a mail' : ''}`,
  'order.cancel': ({ order }) => `The order ${text(order)} was canceled`,
  'order.change': ({ order, what }) =>
    what === 'metadata'
      ? `Metadata of the order ${text(order)} was replaced`
      : `The order ${text(order)} was ${what === 'archived' ? 'archived' : 'listed again'}`,
  'order.forget': ({ orders }) => `The texts of ${counted(orders, 'order', 'orders')} were erased`,
  'order.refund': ({ order }) => `A refund of the order ${text(order)} was prepared`,
  'order.refund-discard': ({ order }) => `A refund of the order ${text(order)} was discarded`,
  'order.refund-sent': ({ order }) => `A refund of the order ${text(order)} was marked as sent`,
  'passkey.add': ({ name }) => `The passkey “${text(name)}” was added`,
  'passkey.remove': ({ name, by }) => `The passkey “${text(name)}” was removed${byLink(by)}`,
  'passkey.rename': ({ name }) => `A passkey was renamed “${text(name)}”`,
  'password.set': ({ by }) => `The password was set${byLink(by)}${atFirstStart(by)}`,
  'plugin.allow': ({ key }) => `A plugin with the API key ${text(key)} may change stores`,
  'plugin.shut': ({ key }) => `A plugin with the API key ${text(key)} may no longer change stores`,
  'recovery-code.use': ({ left }) => `A recovery code was used; ${counted(left, 'is', 'are')} left`,
  'recovery-codes.new': 'New recovery codes were made',
  'secret.reveal': 'The signature secret was shown',
  'secret.rotate': 'The signature secret was replaced',
  'server.accept': ({ server }) => `A new certificate of the server ${text(server)} was accepted`,
  'server.forget': ({ server }) =>
    `The certificate and the ban of the server ${text(server)} were deleted`,
  'server.lift_ban': ({ server }) => `The ban of the server ${text(server)} was lifted`,
  'session.end': 'A session was signed out',
  'session.end-others': 'All other sessions were signed out',
  'store.add': 'The store was added',
  'store.lightning': ({ node, url }) =>
    `The store got the Lightning node ${text(url)} (${text(node)})`,
  'store.lightning-off': 'The Lightning node of the store was removed',
  'store.attach': ({ wallet_id }) => `The store got the wallet ${text(wallet_id)}`,
  'store.change': (detail) => `Settings of the store were saved${settings(detail)}`,
  'store.detach': ({ wallet_id }) => `The wallet ${text(wallet_id)} was taken from the store`,
  'store.rehearse': 'A payment was rehearsed: it was simulated, and tests were sent',
  'store.remove': 'The store was removed',
  'webhook.add': ({ url }) => `A webhook to ${text(url)} was added`,
  'webhook.change': ({ url }) => `A webhook was changed to ${text(url)}`,
  'webhook.remove': ({ url }) => `The webhook to ${text(url)} was deleted`,
  'store.restore': 'The removed store is used again',
  'totp.off': ({ by }) => `The authenticator app was turned off${byLink(by)}`,
  'till.add': ({ name }) => `The till ${text(name)} was added`,
  'till.change': ({ name }) => `The till ${text(name)} was changed`,
  'till.code': ({ name }) => `A code for the device of the till ${text(name)} was made`,
  'till.pair': ({ name }) => `A device became the till ${text(name)}`,
  'till.remove': ({ name }) => `The till ${text(name)} was removed`,
  'totp.on': 'The authenticator app was turned on',
  'viewer.add': ({ viewer }) => `The viewer ${text(viewer)} was added`,
  'viewer.link': ({ viewer }) => `A sign-in link for ${text(viewer)} was made`,
  'viewer.remove': ({ viewer }) => `The viewer ${text(viewer)} was removed`,
  'wallet.recheck-used': ({ wallet }) =>
    `The addresses of the wallet ${text(wallet)} are checked for use again`,
  'zone.set': ({ zone, by }) =>
    `The time zone was set to ${text(zone)}${by === 'browser' ? ', which a browser named at its sign-in' : ''}`,
};

/** The sentence of an entry; the action itself if a newer version wrote it. */
export function sentenceOf({ action, detail }: Pick<AuditRow, 'action' | 'detail'>): string {
  const sentence = Object.hasOwn(sentences, action) ? sentences[action as AuditAction] : action;
  return typeof sentence === 'string' ? sentence : sentence(JSON.parse(detail) as Detail);
}
