import { tuple } from './tuple.js';

export type ClientKind = 'api-key' | 'user' | 'ip';

/**
 * Who is asking: the holder of a verified API key, else a user, else an address. Carries whatever
 * `verify` returned beside the `id`, such as the customer's plan.
 */
export interface Client {
  readonly kind: ClientKind;
  readonly id: string;
  readonly [attribute: string]: unknown;
}

/** Whom a key is made for. Kinds never collide: user 5 and address 5 are two. */
export function subjectOf(client: Pick<Client, 'kind' | 'id'>): string {
  const { kind, id } = client;
  return `${kind.length}:${kind}${id.length}:${id}`;
}

/** A subject that the app named itself: a `by` function's answer or LimiterService's key. */
export function namedSubject(name: string): string {
  return tuple('key', name);
}

export const globalSubject = tuple('global');
