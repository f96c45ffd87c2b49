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

  /** There is a new connection: whether it is back is seen with the next call. */
  look(): void {
    this.breaker.look();
  }

  /** `askedAt`, here and below, is when the call was, by the clock of the gate. */
  succeeded(askedAt: number): void {
    if (this.breaker.succeeded(askedAt)) this.health.gateClosed();
  }

  /** A call that was admitted has not been sent. */
  unsent(askedAt: number): void {
    this.breaker.undecided(askedAt);
  }

  failed(error: unknown, askedAt: number): void {
    const kind = classifyStoreError(error);
    const { breaker } = STORE_ERRORS[kind];
    if (breaker === 'ignores') this.breaker.undecided(askedAt);
    const opens = breaker !== 'ignores' && this.breaker.failed(askedAt, breaker === 'opens');
    this.health.failed(kind, withoutArguments(error).message, opens);
    if (opens) this.health.gateOpened();
  }
}
