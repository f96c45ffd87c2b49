import { checkIdentity } from '../../src/identity/check-identity.js';
import type { IdentityOptions } from '../../src/identity/identity-options.js';
import { RequestIdentity } from '../../src/identity/request-identity.js';
import { ManualClock } from '../../src/testing/index.js';

const ALICE = { kind: 'api-key', id: 'alice' };

function identityOf(options: IdentityOptions, request: object = {}) {
  const timing = { clock: new ManualClock(0), resolverTimeoutMs: 1_000 };
  const identity = checkIdentity(options, 'identity', timing);
  const caller = { request, ip: 'junk', peer: '192.0.2.1', headers: { 'x-api-key': 'sk' } };
  return () => new RequestIdentity(caller, identity);
}

describe('RequestIdentity', () => {
  it('needs no promise for an address, a user that is there, or a key that is remembered', async () => {
    const visit = identityOf({ apiKey: { verify: async () => ({ id: 'alice' }) } });
    expect(visit().apiKey()).toBeInstanceOf(Promise);
    await visit().client();

    expect(visit().apiKey()).toEqual(ALICE);
    expect(visit().client()).toEqual(ALICE);
    expect(identityOf({})().client()).toEqual({ kind: 'ip', id: '192.0.2.1' });
    expect(identityOf({ user: () => 42 })().client()).toEqual({ kind: 'user', id: '42' });
    expect(identityOf({ user: () => null })().client()).toEqual({ kind: 'ip', id: '192.0.2.1' });
  });

  it('knows a key without a promise once its own request has waited for it', async () => {
    const visit = identityOf({
      apiKey: { verify: async () => ({ id: 'alice' }), cache: false },
    })();
    await visit.apiKey();

    expect(visit.apiKey()).toEqual(ALICE);
    expect(visit.known).toEqual(ALICE);
  });

  it.each<[string, IdentityOptions]>([
    [
      'verify throws',
      {
        apiKey: {
          verify: () => {
            throw new Error('broken: sk');
          },
        },
      },
    ],
    ['verify rejects', { apiKey: { verify: () => Promise.reject(new Error('broken: sk')) } }],
    [
      'from throws',
      {
        apiKey: {
          verify: () => null,
          from: () => {
            throw new Error('broken: <key>');
          },
        },
      },
    ],
  ])('rejects each time, and asks once, when %s', async (_what, options) => {
    const visit = identityOf(options)();
    const asked = [visit.client(), visit.client(), visit.apiKey(), visit.apiKey()];

    for (const answer of await Promise.allSettled(asked.map(async (each) => each))) {
      expect(answer).toMatchObject({ status: 'rejected', reason: { message: 'broken: <key>' } });
    }
  });

  it.each<[string, IdentityOptions['user']]>([
    [
      'throws',
      () => {
        throw new Error('broken');
      },
    ],
    ['rejects', () => Promise.reject(new Error('broken'))],
    ['answers an object', () => ({}) as never],
    ['answers an empty id', () => ''],
  ])('rejects, and does not throw, when the user’s function %s', async (_how, user) => {
    const answer = identityOf({ user })().client();

    expect(answer).toBeInstanceOf(Promise);
    await expect(answer).rejects.toThrow(/broken|user answered/);
  });

  it('gives a holder that no request can change', async () => {
    const verified = { id: 7, plan: 'pro', kind: 'ip' };
    const holder = await identityOf({ apiKey: { verify: () => verified } })().apiKey();

    expect(holder).toEqual({ kind: 'api-key', id: '7', plan: 'pro' });
    expect(Object.isFrozen(holder)).toBe(true);
    expect(Object.isFrozen(verified)).toBe(false);
  });
});
