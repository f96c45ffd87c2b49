import { checkDuration, checkObject, checkWhole } from '../policies/checks.js';
import { RateLimitConfigurationError, mismatch } from '../policies/configuration-error.js';
import type { DeniedCacheOptions } from './denied-cache.store.js';

const OPTION = 'deniedCache';
/** Another process's refund is not to go unseen for longer than anybody would wait for it. */
const MAX_LIFE_MS = 60_000;

/** The option `deniedCache`, checked; undefined when it is off. */
export function checkDeniedCache(
  written: unknown,
): Pick<DeniedCacheOptions, 'maxLifeMs' | 'maxKeys'> | undefined {
  if (written === false) return undefined;
  if (written === true) return {};
  if (typeof written !== 'object') {
    throw new RateLimitConfigurationError(OPTION, mismatch(written, 'true, false or an object'));
  }
  const { maxLife, maxKeys } = checkObject(written, OPTION, ['maxLife', 'maxKeys']);
  return {
    maxLifeMs: checkDuration(maxLife ?? '1s', `${OPTION}.maxLife`, MAX_LIFE_MS),
    maxKeys: checkWhole(maxKeys ?? 10_000, `${OPTION}.maxKeys`, 1, 2 ** 20),
  };
}
