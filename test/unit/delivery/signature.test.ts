import { createHmac } from 'node:crypto';
import { base64 } from '@scure/base';
import { describe, expect, it } from 'vitest';
import { newWebhookSecret, signatureHeaders } from '../../../src/delivery/signature.ts';

const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const signable = {
  eventId: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
  timestamp: 1_614_265_330,
  query: '{"test": 2432232314}',
};

describe('signature headers', () => {
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
      { ...signable, query: signable.query.replace('4', '5') },
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

  it('can be checked with nothing but HMAC-SHA256', () => {
    const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
    const message = `${signable.eventId}.${signable.timestamp}.${signable.query}`;
    const expected = createHmac('sha256', key).update(message).digest('base64');
    expect(signatureHeaders(signable, [secret])['webhook-signature']).toBe(`v1,${expected}`);
  });
});

describe('a new secret', () => {
  it('is whsec_ and the base64 of 32 bytes', () => {
    const made = newWebhookSecret((length) => Uint8Array.from({ length }, (_, index) => index));
    expect(made).toBe('whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=');
    expect(base64.decode(made.slice(6))).toHaveLength(32);
  });
});
