export { ManualClock } from './manual-clock.js';
export { expectRefusal, type ExpectedRefusal, type RefusedResponse } from './expect-refusal.js';
