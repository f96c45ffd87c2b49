import { createHmac } from 'node:crypto';
import { RecentMap } from './recent-map.js';

/** 22 characters of base64url are 132 bits: two subjects never meet. */
const DIGEST_CHARACTERS = 22;
const REMEMBERED = 10_000;
/** Longer ones are hashed each time, so that ids of a megabyte do not fill the memory. */
const REMEMBERED_LENGTH = 512;

/**
 * Makes the keys that counters stand under: a prefix and a keyed hash, of constant length. What is
 * counted and who is counted are hashed together with their lengths, so no two different tuples
 * give one key, and no identity is in a key.
 */
export class CounterKeys {
  private readonly known = new RecentMap<string, string>(REMEMBERED);
  private readonly prefix: string;

  /**
   * The braces make the prefix a hash tag: all keys of a decision are in one slot of a cluster.
   * Without a secret the hash is of public knowledge, so a guessed identity can be confirmed.
   */
  constructor(
    prefix: string,
    private readonly secret: string,
  ) {
    this.prefix = `{${prefix}}:`;
  }

  /** The key of `subject` within a space, both unambiguous lists of parts from `tuple`. */
  key(space: string, subject: string): string {
    const counted = space + subject;
    const known = this.known.get(counted);
    if (known !== undefined) return known;
    // UTF-16 keeps lone surrogates apart, which UTF-8 would all turn into one character.
    const hash = createHmac('sha256', this.secret).update(counted, 'utf16le');
    const key = this.prefix + hash.digest('base64url').slice(0, DIGEST_CHARACTERS);
    if (counted.length <= REMEMBERED_LENGTH) this.known.set(counted, key);
    return key;
  }
}

/** Parts with their lengths in front: `['a', 'b']` and `['a1:b']` stay apart. */
export function tuple(...parts: readonly string[]): string {
  return parts.map((part) => `${part.length}:${part}`).join('');
}
