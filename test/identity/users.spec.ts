import { Users } from '../../src/identity/users.js';

describe('the client of a user', () => {
  it('is one for all its requests, which nobody can change', () => {
    const users = new Users();

    expect(users.clientOf('ann')).toBe(users.clientOf('ann'));
    expect(users.clientOf('ann')).toEqual({ kind: 'user', id: 'ann' });
    expect(users.clientOf('ben')).not.toBe(users.clientOf('ann'));
    expect(Object.isFrozen(users.clientOf('ann'))).toBe(true);
  });

  // Ids are the app's, and may be as long as a caller likes.
  it('is not remembered under a long id', () => {
    const users = new Users();
    const id = 'x'.repeat(513);

    expect(users.clientOf(id)).not.toBe(users.clientOf(id));
    expect(users.clientOf(id)).toEqual({ kind: 'user', id });
  });
});
