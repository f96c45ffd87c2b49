import { types } from 'node:util';

/**
 * What an error of a store means. A refusal is an answer and never one of these.
 *
 * - `not-sent`: no connection. Nothing has happened.
 * - `ambiguous`: sent, or maybe sent, and not answered. It may still happen, so it is never repeated.
 * - `unavailable`: Redis is up and cannot serve or write now. Nothing has happened.
 * - `misconfigured`: it stays so until somebody changes something. Nothing has happened.
 * - `poisoned-key`: what stands at one key is nobody's state. Other keys are well.
 * - `bug`: this library, the script or a runner is wrong about something. It says nothing of Redis.
 */
export type StoreErrorKind = keyof typeof STORE_ERRORS;

interface Consequence {
  /** Whether a breaker counts it among others, opens at once with long pauses, or takes no notice. */
  readonly breaker: 'counts' | 'opens' | 'ignores';
  /** Whether the operation may have been charged in Redis, or may yet be. */
  readonly mayHaveCharged: boolean;
  /** For one line a transition, or a minute: never for each request. */
  readonly logLevel: 'warn' | 'error';
}

export const STORE_ERRORS = {
  'not-sent': { breaker: 'counts', mayHaveCharged: false, logLevel: 'error' },
  ambiguous: { breaker: 'counts', mayHaveCharged: true, logLevel: 'error' },
  unavailable: { breaker: 'counts', mayHaveCharged: false, logLevel: 'error' },
  misconfigured: { breaker: 'opens', mayHaveCharged: false, logLevel: 'error' },
  'poisoned-key': { breaker: 'ignores', mayHaveCharged: false, logLevel: 'warn' },
  bug: { breaker: 'ignores', mayHaveCharged: true, logLevel: 'error' },
} as const satisfies Record<string, Consequence>;

/** The first word of Redis's reply. */
const REPLIES: Readonly<Record<string, StoreErrorKind>> = {
  LOADING: 'unavailable',
  MASTERDOWN: 'unavailable',
  CLUSTERDOWN: 'unavailable',
  READONLY: 'unavailable',
  NOREPLICAS: 'unavailable',
  MISCONF: 'unavailable',
  BUSY: 'unavailable',
  OOM: 'unavailable',
  // Only a cluster's client gives up following them, and then with a message of its own.
  TRYAGAIN: 'unavailable',
  // One server was configured, and it is a node of a cluster.
  MOVED: 'misconfigured',
  ASK: 'misconfigured',
  CROSSSLOT: 'misconfigured',
  NOAUTH: 'misconfigured',
  WRONGPASS: 'misconfigured',
  NOPERM: 'misconfigured',
  // Protected mode.
  DENIED: 'misconfigured',
  // The runner neither sends the script nor has an operator loaded it.
  NOSCRIPT: 'misconfigured',
  WRONGTYPE: 'poisoned-key',
  // In the middle of a MULTI of the app.
  EXECABORT: 'misconfigured',
};

/** What Redis has no word for but `ERR`, and what clients say themselves. */
const MESSAGES: readonly (readonly [pattern: RegExp, kind: StoreErrorKind])[] = [
  [/^ERR max number of clients/, 'unavailable'],
  [/^Too many Cluster redirections/, 'unavailable'],
  [/^ERR (unknown command|unknown subcommand|Unknown Redis command)/, 'misconfigured'],
  // Redis 7.0 says so of a command that the ACL denies to a script.
  [/^ERR The user executing the script can't/, 'misconfigured'],
  [/^ERR (invalid password|AUTH |Client sent AUTH|DB index|SELECT is not)/, 'misconfigured'],
  [/^ERR .*cluster support disabled/, 'misconfigured'],
  [/^ERR (Can't execute|only \(P|DISABLED)/, 'misconfigured'],
  [/^Connection in (subscriber|monitoring) mode/, 'misconfigured'],
  [/^ERR (value is not|increment or decrement|hash value is not)/, 'poisoned-key'],
  // Whatever else Redis refuses, and replies that cannot be read as decisions.
  [/^[A-Z]{3,} |^the (script|store) (replied|answered|refused)/, 'bug'],
  [/^not connected to Redis/, 'not-sent'],
  // ioredis, iovalkey. `Connection is closed.` is said of commands under way too, so it is no proof.
  [/^(Stream|Cluster) isn't (writeable|ready)/, 'not-sent'],
  [/^(None of startup nodes|Failed to refresh slots|Cluster is disconnect)/, 'not-sent'],
  [/^(All sentinels are unreachable|Node is disconnected)/, 'not-sent'],
  // node-redis
  [/^The client is (closed|offline)|^The queue is full|^Connection timeout/, 'not-sent'],
  [/^(All the root nodes are unavailable|Cluster closed)/, 'not-sent'],
];

const NO_CONNECTION = /^(ECONNREFUSED|ENOTFOUND|EAI_|EHOSTUNREACH|ENETUNREACH|ENOENT)/;
const NO_TRUST =
  /^(ERR_TLS|ERR_SSL|EPROTO|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_|HOSTNAME_MISMATCH)/;
const BUGS = new Set(['TypeError', 'RangeError', 'ReferenceError', 'SyntaxError']);

/** What clients add to an Error. */
interface ClientError extends Error {
  readonly code?: unknown;
  readonly syscall?: unknown;
  readonly errors?: readonly unknown[];
  readonly lastNodeError?: unknown;
}

/**
 * Told by code, reply and message, never by class: clients, and copies of a client, have classes of
 * their own. What is unknown is `ambiguous`, which promises least.
 */
export function classifyStoreError(error: unknown): StoreErrorKind {
  if (!types.isNativeError(error)) return 'ambiguous';
  const { name, code, syscall, errors, lastNodeError, cause } = error as ClientError;
  const said = replyOf(error.message);
  const kind =
    REPLIES[said.split(' ', 1)[0]!] ?? MESSAGES.find(([pattern]) => pattern.test(said))?.[1];
  if (kind !== undefined && kind !== 'not-sent') return kind;

  // What wraps another error is what the other is.
  const inner = cause ?? lastNodeError ?? errors?.[0];
  if (inner !== undefined) {
    const innerKind = classifyStoreError(inner);
    return kind === undefined || innerKind === 'misconfigured' ? innerKind : kind;
  }
  if (kind !== undefined) return kind;
  if (typeof code === 'string' && NO_TRUST.test(code)) return 'misconfigured';
  if (typeof code === 'string' && NO_CONNECTION.test(code)) return 'not-sent';
  if (syscall === 'connect' || syscall === 'getaddrinfo') return 'not-sent';
  return BUGS.has(name) ? 'bug' : 'ambiguous';
}

/**
 * Before Redis 7, what a command in a script was answered stands in
 * `ERR Error running script (call to f_…): @user_script:12: -OOM …`.
 */
function replyOf(message: string): string {
  return (
    /^ERR Error running script.*?@user_script: ?\d+: -?([A-Z]{3,} .*)$/s.exec(message)?.[1] ??
    message
  );
}

/**
 * The error as logs and events may tell it: name, message, code, stack and cause, without the command,
 * whose arguments are keys, and whatever else a client has hung on it.
 */
export function withoutArguments(error: unknown): Error {
  if (!types.isNativeError(error)) {
    return new Error(`the store failed with ${typeof error === 'string' ? error : typeof error}`);
  }
  const { name, code, cause } = error as ClientError;
  const message = error.message.replace(/,? with args beginning with:.*$/s, '');
  const options = cause === undefined ? undefined : { cause: withoutArguments(cause) };
  const clean = new Error(message, options);
  const frames = error.stack?.match(/^ {4}at .*$/gm) ?? [];
  Object.defineProperty(clean, 'name', { value: name, configurable: true, writable: true });
  clean.stack = [`${name}: ${message}`, ...frames].join('\n');
  return code === undefined ? clean : Object.assign(clean, { code });
}
