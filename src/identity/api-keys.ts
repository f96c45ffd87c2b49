import { asPromise } from './as-promise.js';
import { checkedId } from './checked-id.js';
import type { ApiKeyOptions, VerifiedKey } from './identity-options.js';
import { KeyAnswers, type KeyAnswer, type KeyAnswersOptions } from './key-answers.js';

const DEFAULT_HEADER = 'x-api-key';

/** Finds the API key of a request and tells whose it is. */
export class ApiKeys {
  private readonly header: string;
  private readonly answers: KeyAnswers | undefined;

  /** Without `cache` the app is asked for each request, and is shown the request. */
  constructor(
    private readonly options: ApiKeyOptions,
    cache?: Omit<KeyAnswersOptions, 'verify'>,
  ) {
    this.header = (options.header ?? DEFAULT_HEADER).toLowerCase();
    this.answers = cache && new KeyAnswers({ ...cache, verify: (key) => this.verified(key) });
  }

  /**
   * The holder; null for a key that is nobody's, undefined without a key. A promise only when the
   * app has to be waited for. Throws or rejects as the app's functions do.
   */
  holderFor(
    request: unknown,
    headers: Readonly<Record<string, unknown>>,
  ): KeyAnswer | undefined | Promise<KeyAnswer> {
    const key = this.keyOf(request, headers);
    if (key === undefined || key === null || key === '') return undefined;
    // An array or an object is a key that nobody can hold, not a key that is absent.
    if (typeof key !== 'string') return null;
    if (this.options.verify === undefined) return { kind: 'api-key', id: key };
    return this.answers === undefined ? this.verified(key, request) : this.answers.holderOf(key);
  }

  /** Whether the app would be asked whose the request's key is. Throws as the app's `from` does. */
  mustAsk(request: unknown, headers: Readonly<Record<string, unknown>>): boolean {
    if (this.options.verify === undefined) return false;
    const key = this.keyOf(request, headers);
    if (typeof key !== 'string' || key === '') return false;
    return this.answers === undefined || !this.answers.knows(key);
  }

  private keyOf(request: unknown, headers: Readonly<Record<string, unknown>>): unknown {
    return this.options.from === undefined ? headers[this.header] : this.options.from(request);
  }

  private verified(key: string, request?: unknown): KeyAnswer | Promise<KeyAnswer> {
    try {
      const verified = this.options.verify!(key, request);
      const asking = asPromise(verified);
      if (asking === undefined) return holderOf(verified as VerifiedKey | null | undefined);
      return asking.then(holderOf).catch((error: unknown) => {
        throw withoutKey(error, key);
      });
    } catch (error) {
      throw withoutKey(error, key);
    }
  }
}

/** Frozen, because requests share it. */
function holderOf(verified: VerifiedKey | null | undefined): KeyAnswer {
  if (!verified) return null;
  const id = checkedId(verified.id, 'identity.apiKey.verify');
  return Object.freeze({ ...verified, kind: 'api-key', id });
}

/** What is thrown here is logged, and a database's message may quote the key it looked for. */
function withoutKey(error: unknown, key: string): Error {
  const reason = error instanceof Error ? error.message : String(error);
  return new Error(reason.replaceAll(key, '<key>'));
}
