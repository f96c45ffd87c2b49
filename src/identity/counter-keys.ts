import { createHmac } from 'node:crypto';
import { RecentMap } from '../recent-map.js';
import { subjectOf, type Client } from './client.js';
import { SHARD_TAGS } from './shard-tags.js';

/** 22 characters of base64url are 132 bits: two subjects never meet. */
const DIGEST_CHARACTERS = 22;
const REMEMBERED = 10_000;
/** Longer ones are hashed each time, so that ids of a megabyte do not fill the memory. */
const REMEMBERED_LENGTH = 512;
const SPACES_OF_A_SUBJECT = 32;

/**
 * Makes the keys that counters stand under: a prefix, a shard's hash tag and a keyed hash, of
 * constant length. What is counted and who is counted are hashed together with their lengths, so no
 * two different tuples give one key, and no identity is in a key. The shard is that of the subject,
 * so all that is counted for one client is in one slot of a cluster.
 */
export class CounterKeys {
  /** By subject, and by space: both are strings that their owners keep, so nothing is joined here. */
  private readonly known = new RecentMap<string, Map<string, string>>(REMEMBERED);

  private readonly ofClients = new WeakMap<Client, Map<string, string>>();

  /**
   * Without a secret the hash is of public knowledge, so a guessed identity can be confirmed.
   * `isShared`: others see the keys. In this process alone they need no hash, which is what a new
   * key costs most.
   */
  constructor(
    private readonly prefix: string,
    private readonly secret: string,
    private readonly isShared = true,
  ) {}

  /** The key of a client, remembered with it where requests share it. */
  keyOf(space: string, client: Client): string {
    const known = this.ofClients.get(client);
    if (known === undefined) return this.newClientKey(space, client);
    return known.get(space) ?? this.newKey(space, subjectOf(client), known);
  }

  private newClientKey(space: string, client: Client): string {
    const subject = subjectOf(client);
    const key = this.key(space, subject);
    // One that is frozen is shared; others are made for a request.
    if (Object.isFrozen(client)) this.ofClients.set(client, this.known.get(subject) ?? new Map());
    return key;
  }

  /** The key of `subject` within a space, both unambiguous lists of parts from `tuple`. */
  key(space: string, subject: string): string {
    const known = this.known.get(subject);
    return known?.get(space) ?? this.newKey(space, subject, known);
  }

  private newKey(space: string, subject: string, known = new Map<string, string>()): string {
    const key =
      this.isShared || subject.length > REMEMBERED_LENGTH
        ? this.hashed(space, subject)
        : space + subject;
    // Numbers that depend on the request could make spaces without end.
    if (known.size < SPACES_OF_A_SUBJECT) known.set(space, key);
    if (subject.length <= REMEMBERED_LENGTH) this.known.set(subject, known);
    return key;
  }

  private hashed(space: string, subject: string): string {
    const digest = this.hash(space + subject)
      .toString('base64url')
      .slice(0, DIGEST_CHARACTERS);
    const tag = SHARD_TAGS[this.hash(subject)[0]! % SHARD_TAGS.length]!;
    return `${this.prefix}{${tag}}:${digest}`;
  }

  /** UTF-16 keeps lone surrogates apart, which UTF-8 would all turn into one character. */
  private hash(text: string): Buffer {
    return createHmac('sha256', this.secret).update(text, 'utf16le').digest();
  }
}
