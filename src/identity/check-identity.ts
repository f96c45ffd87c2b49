import type { Clock } from '../clock.js';
import {
  checkBoolean,
  checkDuration,
  checkFunction,
  checkObject,
  checkWhole,
} from '../policies/checks.js';
import { RateLimitConfigurationError, mismatch } from '../policies/configuration-error.js';
import { Addresses } from './addresses.js';
import { ApiKeys } from './api-keys.js';
import type { ApiKeyOptions, IdentityOptions } from './identity-options.js';
import { DEFAULT_IPV6_PREFIX } from './ip-address.js';
import type { KeyAnswersOptions } from './key-answers.js';
import { Users } from './users.js';

/** A revoked key is not to count as its holder's for longer than anybody would believe. */
const MAX_AGE_MS = 3_600_000;

/** Identity options, checked, and what is remembered from one request to the next. */
export interface CheckedIdentity extends IdentityOptions {
  readonly addresses: Addresses;
  readonly users: Users;
  readonly apiKeys: ApiKeys | undefined;
}

/** What answers of `verify` live by. */
export interface Timing {
  readonly clock: Clock;
  readonly resolverTimeoutMs: number;
}

/** Throws a RateLimitConfigurationError for what is no way to tell who is asking. */
export function checkIdentity(written: unknown, option: string, timing: Timing): CheckedIdentity {
  const known = ['apiKey', 'user', 'ip', 'secret', 'logIdentity'];
  const identity: IdentityOptions = checkObject(written, option, known);
  const { apiKey, user, ip, secret, logIdentity } = identity;
  const apiKeys =
    apiKey === undefined ? undefined : checkApiKey(apiKey, `${option}.apiKey`, timing);
  checkFunction(user, `${option}.user`);
  if (ip !== undefined) checkIp(ip, `${option}.ip`);
  checkSecret(secret, `${option}.secret`);
  checkBoolean(logIdentity ?? false, `${option}.logIdentity`);
  return { ...identity, addresses: new Addresses(ip), users: new Users(), apiKeys };
}

function checkIp(written: unknown, option: string): void {
  const ip = checkObject(written, option, ['ipv6Prefix', 'nat64']);
  checkWhole(ip['ipv6Prefix'] ?? DEFAULT_IPV6_PREFIX, `${option}.ipv6Prefix`, 32, 128);
  checkBoolean(ip['nat64'] ?? false, `${option}.nat64`);
}

function checkApiKey(written: unknown, option: string, timing: Timing): ApiKeys {
  const known = ['header', 'from', 'verify', 'trusted', 'cache'];
  const apiKey: ApiKeyOptions = checkObject(written, option, known);
  checkHeader(apiKey.header ?? 'x-api-key', `${option}.header`);
  checkFunction(apiKey.from, `${option}.from`);
  checkFunction(apiKey.verify, `${option}.verify`);
  const isTrusted = checkBoolean(apiKey.trusted ?? false, `${option}.trusted`);
  if (apiKey.verify === undefined && !isTrusted) {
    throw new RateLimitConfigurationError(
      `${option}.verify`,
      'is missing: anybody can make up a key, and each would get a quota of its own. Expected a ' +
        `function that tells whose key it is, or ${option}.trusted: true behind a gateway that verified it`,
    );
  }
  if (apiKey.verify !== undefined && isTrusted) {
    throw new RateLimitConfigurationError(
      `${option}.trusted`,
      'is true beside verify, expected one of them',
    );
  }
  return new ApiKeys(apiKey, checkCache(apiKey, `${option}.cache`, timing));
}

/** Undefined where each request asks for itself. */
function checkCache(
  { verify, cache }: ApiKeyOptions,
  option: string,
  { clock, resolverTimeoutMs }: Timing,
): Omit<KeyAnswersOptions, 'verify'> | undefined {
  const takesRequest = verify !== undefined && verify.length > 1;
  const written: unknown = cache ?? (verify !== undefined && !takesRequest);
  if (written === false) return undefined;
  if (verify === undefined) {
    throw new RateLimitConfigurationError(
      option,
      'is given beside trusted, which verifies nothing',
    );
  }
  if (takesRequest) {
    throw new RateLimitConfigurationError(
      option,
      'is given beside a verify that takes the request, whose answer holds for that request alone; ' +
        'expected verify(key), or cache: false',
    );
  }
  if (written !== true && typeof written !== 'object') {
    throw new RateLimitConfigurationError(option, mismatch(written, 'true, false or an object'));
  }
  const { maxAge, maxKeys } = checkObject(written === true ? {} : written, option, [
    'maxAge',
    'maxKeys',
  ]);
  return {
    clock,
    timeoutMs: resolverTimeoutMs,
    maxAgeMs: checkDuration(maxAge ?? '5s', `${option}.maxAge`, MAX_AGE_MS),
    maxKeys: checkWhole(maxKeys ?? 10_000, `${option}.maxKeys`, 1, 2 ** 20),
  };
}

function checkHeader(header: unknown, option: string): void {
  if (typeof header === 'string' && /^[\w!#$%&'*+.^`|~-]{1,128}$/.test(header)) return;
  throw new RateLimitConfigurationError(option, mismatch(header, 'the name of a header'));
}

/** A weak secret is warned of. It is never in a message, whatever is wrong with it. */
function checkSecret(secret: unknown, option: string): void {
  if (secret === undefined || (typeof secret === 'string' && secret !== '')) return;
  const received = typeof secret === 'string' ? 'an empty string' : typeof secret;
  throw new RateLimitConfigurationError(
    option,
    `received ${received}, expected a string of 16 bytes or more`,
  );
}
