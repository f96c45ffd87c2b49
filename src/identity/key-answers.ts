import { createHash, randomBytes } from 'node:crypto';
import type { Clock } from '../clock.js';
import { withDeadline } from '../deadline.js';
import type { Client } from './client.js';
import { RecentMap } from '../recent-map.js';

/** Whose a key is: null when it is nobody's. */
export type KeyAnswer = Client | null;

export interface KeyAnswersOptions {
  /** Asks the app. What it throws or rejects with is not remembered. */
  readonly verify: (key: string) => KeyAnswer | Promise<KeyAnswer>;
  /** How long an answer holds, counted from when it was asked for. */
  readonly maxAgeMs: number;
  /** Keys with a holder that are remembered, and likewise keys that are nobody's. */
  readonly maxKeys: number;
  /** How long requests wait together for one answer, before the next asks anew. */
  readonly timeoutMs: number;
  readonly clock: Clock;
}

interface Remembered {
  readonly holder: KeyAnswer;
  readonly askedAt: number;
}

/**
 * What `verify` said of the last keys, for a short time. Requests that come with one key while it
 * is being verified wait for one answer. No key is kept, only a salted hash.
 */
export class KeyAnswers {
  private readonly holders: RecentMap<string, Remembered>;
  /** Apart, so that made-up keys push no holder out. */
  private readonly nobodys: RecentMap<string, Remembered>;
  private readonly asking = new Map<string, Promise<KeyAnswer>>();
  private readonly salt = randomBytes(32);

  constructor(private readonly options: KeyAnswersOptions) {
    this.holders = new RecentMap(options.maxKeys);
    this.nobodys = new RecentMap(options.maxKeys);
  }

  /** Whether there is an answer that still holds. */
  knows(key: string): boolean {
    return this.rememberedAt(this.hash(key), this.options.clock.now()) !== undefined;
  }

  /** A promise only when the app has to be waited for. Throws or rejects as `verify` does. */
  holderOf(key: string): KeyAnswer | Promise<KeyAnswer> {
    const hash = this.hash(key);
    const now = this.options.clock.now();
    const known = this.rememberedAt(hash, now);
    if (known !== undefined) return known.holder;
    return this.asking.get(hash) ?? this.ask(key, hash, now);
  }

  private ask(key: string, hash: string, askedAt: number): KeyAnswer | Promise<KeyAnswer> {
    const answer = this.options.verify(key);
    if (!(answer instanceof Promise)) return this.remember(hash, answer, askedAt);
    // An answer that never comes must not keep all later requests waiting for it.
    const asking = withDeadline(answer, this.options.timeoutMs, 'verify')
      .then((holder) => this.remember(hash, holder, askedAt))
      .finally(() => this.asking.delete(hash));
    this.asking.set(hash, asking);
    return asking;
  }

  private remember(hash: string, holder: KeyAnswer, askedAt: number): KeyAnswer {
    (holder === null ? this.nobodys : this.holders).set(hash, { holder, askedAt });
    return holder;
  }

  private rememberedAt(hash: string, now: number): Remembered | undefined {
    return this.fresh(this.holders.get(hash), now) ?? this.fresh(this.nobodys.get(hash), now);
  }

  private fresh(known: Remembered | undefined, now: number): Remembered | undefined {
    return known !== undefined && now - known.askedAt < this.options.maxAgeMs ? known : undefined;
  }

  /**
   * Half the price of an HMAC, and as good where nobody sees the hashes. UTF-16 keeps lone
   * surrogates apart, which UTF-8 would all turn into one character.
   */
  private hash(key: string): string {
    return createHash('sha256').update(this.salt).update(key, 'utf16le').digest('binary');
  }
}
