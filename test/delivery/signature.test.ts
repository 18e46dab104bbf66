import { createHmac } from 'node:crypto';
import { base64 } from '@scure/base';
import fc from 'fast-check';
import { Webhook } from 'standardwebhooks';
import { describe, expect, it } from 'vitest';
import {
  createKeyCache,
  newWebhookSecret,
  rotatedSecrets,
  secretOverlapMs,
  signatureHeaders,
  signingSecrets,
} from '../../src/delivery/signature.ts';

const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const signable = {
  eventId: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
  timestamp: 1_614_265_330,
  payload: '{"test": 2432232314}',
};

describe('P-69 signature headers', () => {
  // https://github.com/standard-webhooks/standard-webhooks: the vector of its libraries' tests.
  it('are those of the published test vector', () => {
    expect(signatureHeaders(signable, [secret])).toEqual({
      'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
      'webhook-timestamp': '1614265330',
      'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
    });
  });

  it('change with every part that is signed', () => {
    const tampered = [
      signable,
      { ...signable, eventId: `${signable.eventId}x` },
      { ...signable, timestamp: signable.timestamp + 1 },
      { ...signable, payload: signable.payload.replace('4', '5') },
    ];
    const signatures = tampered.map((each) => signatureHeaders(each, [secret]));
    expect(new Set(signatures.map((each) => each['webhook-signature'])).size).toBe(4);
  });

  it('hold one signature for each secret', () => {
    const other = newWebhookSecret((length) => new Uint8Array(length).fill(7));
    const both = signatureHeaders(signable, [other, secret])['webhook-signature'];
    const alone = [other, secret].map((each) => signatureHeaders(signable, [each]));
    expect(both).toBe(alone.map((each) => each['webhook-signature']).join(' '));
  });

  it('are the same with cached keys', () => {
    const keyOf = createKeyCache();
    const secrets = Array.from({ length: 300 }, (_, at) =>
      newWebhookSecret((length) => new Uint8Array(length).fill(at % 256).fill(at >> 8, 0, 1)),
    );
    for (const each of [...secrets, ...secrets]) {
      expect(signatureHeaders(signable, [each], keyOf)).toEqual(signatureHeaders(signable, [each]));
    }
    expect(keyOf(secrets[299] as string)).toBe(keyOf(secrets[299] as string));
  });

  it('can be checked with nothing but HMAC-SHA256', () => {
    const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
    const message = `${signable.eventId}.${signable.timestamp}.${signable.payload}`;
    const expected = createHmac('sha256', key).update(message).digest('base64');
    expect(signatureHeaders(signable, [secret])['webhook-signature']).toBe(`v1,${expected}`);
  });
});

describe('the npm package standardwebhooks', () => {
  const anySecret = fc
    .uint8Array({ minLength: 24, maxLength: 64 })
    .map((key) => `whsec_${base64.encode(key)}`);
  const anySignable = fc.record({
    eventId: fc.stringMatching(/^msg_[A-Za-z0-9]{10,30}$/),
    timestamp: fc.integer({ min: 1_500_000_000, max: 4_000_000_000 }),
    payload: fc.stringMatching(/^[\x21-\x7e]{1,200}$/),
  });
  const signedBy = (secret: string, { eventId, timestamp, payload }: typeof signable) =>
    new Webhook(secret).sign(eventId, new Date(timestamp * 1000), payload);
  const ours = (secret: string, what: typeof signable) =>
    signatureHeaders(what, [secret])['webhook-signature'];

  it('signs the same', () => {
    fc.assert(
      fc.property(anySecret, anySignable, (secret, what) => {
        expect(ours(secret, what)).toBe(signedBy(secret, what));
      }),
    );
  });

  it('signs differently after any changed bit', () => {
    const flip = (text: string, bit: number): string => {
      const bytes = Buffer.from(text, 'latin1');
      const at = bit % (7 * bytes.length);
      bytes[Math.floor(at / 7)] = (bytes[Math.floor(at / 7)] ?? 0) ^ (1 << (at % 7));
      return bytes.toString('latin1');
    };
    fc.assert(
      fc.property(anySecret, anySignable, fc.nat(), (secret, what, bit) => {
        const signature = signedBy(secret, what);
        expect(ours(secret, { ...what, payload: flip(what.payload, bit) })).not.toBe(signature);
        expect(ours(secret, { ...what, eventId: flip(what.eventId, bit) })).not.toBe(signature);
        const timestamp = what.timestamp ^ (1 << (bit % 30));
        expect(ours(secret, { ...what, timestamp })).not.toBe(signature);
        const key = base64.decode(secret.slice(6));
        key[bit % key.length] = (key[bit % key.length] ?? 0) ^ (1 << (bit % 8));
        expect(ours(`whsec_${base64.encode(key)}`, what)).not.toBe(signature);
      }),
    );
  });
});

describe('P-69 a rotation', () => {
  const now = 1_763_650_000_000;
  const never = { previousWebhookSecret: null, previousSecretUntil: null };

  it('lets both secrets sign for 7 days, the new one first, and then the new one alone', () => {
    expect(signingSecrets({ webhookSecret: 'old', ...never }, now)).toEqual(['old']);
    const after = rotatedSecrets({ webhookSecret: 'old' }, 'new', now);
    expect(secretOverlapMs).toBe(7 * 24 * 3_600_000);
    expect(signingSecrets(after, now)).toEqual(['new', 'old']);
    expect(signingSecrets(after, now + secretOverlapMs - 1)).toEqual(['new', 'old']);
    expect(signingSecrets(after, now + secretOverlapMs)).toEqual(['new']);
  });

  it('that follows soon drops the oldest secret at once', () => {
    const twice = rotatedSecrets(rotatedSecrets({ webhookSecret: 'a' }, 'b', now), 'c', now + 1);
    expect(signingSecrets(twice, now + 1)).toEqual(['c', 'b']);
  });
});

describe('a new secret', () => {
  it('is whsec_ and the base64 of 32 bytes', () => {
    const made = newWebhookSecret((length) => Uint8Array.from({ length }, (_, index) => index));
    expect(made).toBe('whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=');
    expect(base64.decode(made.slice(6))).toHaveLength(32);
  });
});
