import type { Clock } from '../../clock.js';
import { STORE_ERRORS, classifyStoreError, withoutArguments } from '../redis/store-error.js';
import { Breaker } from './breaker.js';
import type { StoreHealth } from './store-health.js';

/** Nothing was sent, because the breaker is open. */
export class StoreAwayError extends Error {
  override readonly name = 'StoreAwayError';

  constructor() {
    super('the store is away');
  }
}

/** One for all: it is thrown as often as the app is asked while the store is away. */
const AWAY = new StoreAwayError();
AWAY.stack = `${AWAY.name}: ${AWAY.message}`;

/** In front of one server: its breaker, and what its errors mean for it. */
export class Gate {
  private readonly breaker: Breaker;

  constructor(
    clock: Clock,
    private readonly health: StoreHealth,
  ) {
    this.breaker = new Breaker({ clock });
    health.gateMade();
  }

  /** Undefined when a call may be sent. */
  refusal(): StoreAwayError | undefined {
    return this.breaker.admits() ? undefined : AWAY;
  }

  succeeded(): void {
    if (this.breaker.succeeded()) this.health.gateClosed();
  }

  failed(error: unknown): void {
    const kind = classifyStoreError(error);
    this.health.failed(kind, withoutArguments(error).message);
    const { breaker } = STORE_ERRORS[kind];
    if (breaker === 'ignores') this.breaker.undecided();
    else if (this.breaker.failed(breaker === 'opens')) this.health.gateOpened();
  }
}
