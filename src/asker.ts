import { andThen } from './and-then.js';
import { inTime } from './deadline.js';
import type { Client } from './identity/client.js';
import type { RequestIdentity } from './identity/request-identity.js';
import type { RateLimitSettings } from './rate-limit.settings.js';
import type { ClientBy, Phase } from './tiers/tier-options.js';

type Answer = Client | undefined | Promise<Client | undefined>;

/**
 * Who asks, as a question finds it: the app is asked for the user once for all of its tiers, each of
 * its functions within its deadline. Rejects, and never throws, when one of them fails.
 */
export class Asker {
  private readonly asking: Partial<Record<ClientBy, Promise<Client | undefined>>> = {};
  private isUserAsked = false;
  private user: Answer;

  constructor(
    private readonly identity: RequestIdentity,
    private readonly phase: Phase,
    private readonly settings: RateLimitSettings,
  ) {}

  /** Undefined: tiers that count so do not apply. A promise only where somebody has to be asked. */
  by(by: ClientBy): Answer {
    const asking = this.asking[by];
    if (asking !== undefined) return asking;
    const answer = this.ask(by);
    // The same for whoever asks again, so that one that fails fails for nobody who does not listen.
    if (answer instanceof Promise) this.asking[by] = answer;
    return answer;
  }

  client(): Client | Promise<Client> {
    return this.by('client') as Client | Promise<Client>;
  }

  private ask(by: ClientBy): Answer {
    const { identity, phase, settings } = this;
    switch (by) {
      case 'client':
        if (phase === 'edge' || settings.identities.length === 0) return identity.ip();
        return this.inTime(
          identity.client(() => this.userOnce()),
          'the identity of the client',
        );
      case 'api-key':
        return this.keyHolder();
      case 'user':
        return this.inTime(this.userOnce(), 'identity.user');
      case 'ip':
        return identity.ip();
    }
  }

  /** A key that is nobody's is charged to its address, so that guessing is limited. */
  private keyHolder(): Answer {
    return andThen(this.inTime(this.identity.apiKey(), 'verify'), (holder) =>
      holder === null ? this.identity.ip() : holder,
    );
  }

  private userOnce(): Answer {
    if (!this.isUserAsked) {
      this.isUserAsked = true;
      this.user = this.identity.user();
    }
    return this.user;
  }

  private inTime<T>(answer: T | Promise<T>, what: string): T | Promise<T> {
    return inTime(answer, this.settings.resolverTimeoutMs, what);
  }
}
