import { STORE_ERRORS, classifyStoreError } from '../redis/store-error.js';
import { StoreAwayError } from './gate.js';

/** Whether what failed with this may be charged in the store all the same, now or soon. */
export function mayHaveCharged(error: unknown): boolean {
  return (
    !(error instanceof StoreAwayError) && STORE_ERRORS[classifyStoreError(error)].mayHaveCharged
  );
}
