import { checkBoolean, checkFunction, checkObject, checkWhole } from '../policies/checks.js';
import { RateLimitConfigurationError, mismatch } from '../policies/configuration-error.js';
import type { IdentityOptions } from './identity-options.js';
import { DEFAULT_IPV6_PREFIX } from './ip-address.js';

const MIN_SECRET_CHARACTERS = 16;

/** Throws a RateLimitConfigurationError for what is no way to tell who is asking. */
export function checkIdentity(written: unknown, option: string): IdentityOptions {
  const known = ['apiKey', 'user', 'ip', 'secret', 'logIdentity'];
  const identity = checkObject(written, option, known);
  if (identity['apiKey'] !== undefined) checkApiKey(identity['apiKey'], `${option}.apiKey`);
  checkFunction(identity['user'], `${option}.user`);
  if (identity['ip'] !== undefined) {
    const ip = checkObject(identity['ip'], `${option}.ip`, ['ipv6Prefix']);
    checkWhole(ip['ipv6Prefix'] ?? DEFAULT_IPV6_PREFIX, `${option}.ip.ipv6Prefix`, 32, 128);
  }
  checkSecret(identity['secret'], `${option}.secret`);
  checkBoolean(identity['logIdentity'] ?? false, `${option}.logIdentity`);
  return identity;
}

function checkApiKey(written: unknown, option: string): void {
  const apiKey = checkObject(written, option, ['header', 'from', 'verify', 'trusted']);
  checkHeader(apiKey['header'] ?? 'x-api-key', `${option}.header`);
  checkFunction(apiKey['from'], `${option}.from`);
  checkFunction(apiKey['verify'], `${option}.verify`);
  const isTrusted = checkBoolean(apiKey['trusted'] ?? false, `${option}.trusted`);
  if (apiKey['verify'] === undefined && !isTrusted) {
    throw new RateLimitConfigurationError(
      `${option}.verify`,
      'is missing: anybody can make up a key, and each would get a quota of its own. Expected a ' +
        `function that tells whose key it is, or ${option}.trusted: true behind a gateway that verified it`,
    );
  }
  if (apiKey['verify'] !== undefined && isTrusted) {
    throw new RateLimitConfigurationError(
      `${option}.trusted`,
      'is true beside verify, expected one of them',
    );
  }
}

function checkHeader(header: unknown, option: string): void {
  if (typeof header === 'string' && /^[\w!#$%&'*+.^`|~-]{1,128}$/.test(header)) return;
  throw new RateLimitConfigurationError(option, mismatch(header, 'the name of a header'));
}

/** The secret is never in the message, whatever is wrong with it. */
function checkSecret(secret: unknown, option: string): void {
  if (secret === undefined) return;
  if (typeof secret === 'string' && secret.length >= MIN_SECRET_CHARACTERS) return;
  const received = typeof secret === 'string' ? `${secret.length} characters` : typeof secret;
  throw new RateLimitConfigurationError(
    option,
    `received ${received}, expected a string of ${MIN_SECRET_CHARACTERS} characters or more`,
  );
}
