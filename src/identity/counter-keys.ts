import { createHash, createHmac } from 'node:crypto';
import { RecentMap } from '../recent-map.js';
import { subjectOf, type Client } from './client.js';
import { SHARD_TAGS } from './shard-tags.js';

/** 22 characters of base64url are 132 bits: two subjects never meet. */
const DIGEST_CHARACTERS = 22;
const REMEMBERED = 10_000;
/** Longer ones are hashed each time, so that ids of a megabyte do not fill the memory. */
const REMEMBERED_LENGTH = 512;
const SPACES_OF_A_SUBJECT = 32;

/** What a counter is known by. */
export interface Counter {
  readonly key: string;
  /** The value that it shares with other counters of its subject, and which of them it is. */
  readonly shared: { readonly key: string; readonly field: number } | undefined;
}

/**
 * Makes the keys that counters stand under: a prefix, a shard's hash tag and a keyed hash, of
 * constant length. What is counted and who is counted are hashed together with their lengths, so no
 * two different tuples give one key, and no identity is in a key. The shard is that of the subject,
 * so all that is counted for one client is in one slot of a cluster. Counters of the spaces in
 * `fields` share one value of their subject, whose key is a hash of the subject alone.
 */
export class CounterKeys {
  /** By subject, and by space: both are strings that their owners keep, so nothing is joined here. */
  private readonly known = new RecentMap<string, Map<string, Counter>>(REMEMBERED);

  private readonly ofClients = new WeakMap<Client, Map<string, Counter>>();

  /**
   * Without a secret the hash is of public knowledge, so a guessed identity can be confirmed.
   * `isShared`: others see the keys. In this process alone they need no hash, which is what a new
   * key costs most.
   */
  constructor(
    private readonly prefix: string,
    private readonly secret: string,
    private readonly isShared = true,
    private readonly fields: ReadonlyMap<string, number> = new Map(),
  ) {}

  /** The counter of a client, remembered with it where requests share it. */
  counterOf(space: string, client: Client): Counter {
    const known = this.ofClients.get(client);
    if (known === undefined) return this.newClientCounter(space, client);
    return known.get(space) ?? this.newCounter(space, subjectOf(client), known);
  }

  private newClientCounter(space: string, client: Client): Counter {
    const subject = subjectOf(client);
    const counter = this.counter(space, subject);
    // One that is frozen is shared; others are made for a request.
    if (Object.isFrozen(client)) this.ofClients.set(client, this.known.get(subject) ?? new Map());
    return counter;
  }

  /** The counter of `subject` within a space, both unambiguous lists of parts from `tuple`. */
  counter(space: string, subject: string): Counter {
    const known = this.known.get(subject);
    return known?.get(space) ?? this.newCounter(space, subject, known);
  }

  private newCounter(space: string, subject: string, known = new Map<string, Counter>()): Counter {
    const counter =
      this.isShared || subject.length > REMEMBERED_LENGTH
        ? this.hashed(space, subject)
        : { key: space + subject, shared: undefined };
    // Numbers that depend on the request could make spaces without end.
    if (known.size < SPACES_OF_A_SUBJECT) known.set(space, counter);
    if (subject.length <= REMEMBERED_LENGTH) this.known.set(subject, known);
    return counter;
  }

  private hashed(space: string, subject: string): Counter {
    const hash = this.hash(subject);
    const field = this.fields.get(space);
    const digest = (field === undefined ? this.hash(space + subject) : hash)
      .toString('base64url')
      .slice(0, DIGEST_CHARACTERS);
    const tag = SHARD_TAGS[hash[0]! % SHARD_TAGS.length]!;
    const key = `${this.prefix}{${tag}}:${digest}`;
    if (field === undefined) return { key, shared: undefined };
    return { key: `${key}:${field}`, shared: { key, field } };
  }

  /** UTF-16 keeps lone surrogates apart, which UTF-8 would all turn into one character. */
  private hash(text: string): Buffer {
    return createHmac('sha256', this.secret).update(text, 'utf16le').digest();
  }
}

/**
 * A field for each space, told by its name alone, so that every process and every release finds the
 * same. A space whose field another one has is left out.
 */
export function fieldsOf(spaces: readonly string[]): ReadonlyMap<string, number> {
  const bySpace = new Map<string, number>();
  const taken = new Set<number>();
  for (const space of spaces) {
    const field = createHash('sha256').update(space, 'utf16le').digest().readUInt32LE();
    if (taken.has(field)) continue;
    taken.add(field);
    bySpace.set(space, field);
  }
  return bySpace;
}
