// What is measured is the build that users install, not src.
export * from '../dist/esm/index.js';
export { definePolicy } from '../dist/esm/policies/define-policy.js';
export { OPTION_NAMES } from '../dist/esm/rate-limit.settings.js';
export { planOf } from '../dist/esm/stores/redis/plan.js';
export { DECIDE_SCRIPT } from '../dist/esm/stores/redis/script.generated.js';
export { encode } from '../dist/esm/stores/redis/wire.js';
