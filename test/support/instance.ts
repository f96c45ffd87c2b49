import { Test } from '@nestjs/testing';
import {
  LimiterService,
  RateLimitModule,
  RateLimitStore,
  type CombinedDecision,
  type Decision,
  type RateLimitOptions,
} from '../../src/index.js';
import { RateLimitEvents } from '../../src/rate-limit.events.js';
import { ServiceCharges, type NamedPolicy } from '../../src/service-charges.js';
import { StoreWatch } from '../../src/store-watch.js';
import type { StoreStatus } from '../../src/stores/availability/store-health.js';
import type { FailoverStore } from '../../src/stores/failover/failover.store.js';
import { eventually } from './eventually.js';

/** One process's limiter with everything that the module puts around Redis, but without HTTP. */
export class Instance {
  /** Each state that the store has come to, in order. */
  readonly states: StoreStatus['state'][] = [];
  /** Keys that were handed back so far. */
  handedBack = 0;

  private constructor(
    private readonly limiter: LimiterService,
    private readonly charges: ServiceCharges,
    private readonly store: FailoverStore,
    private readonly watch: StoreWatch,
    events: RateLimitEvents,
    readonly close: () => Promise<void>,
  ) {
    events.on('store', ({ state }) => this.states.push(state));
    events.on('handed-back', (keys) => (this.handedBack += keys));
  }

  static async start(redis: unknown, options: Partial<RateLimitOptions> = {}): Promise<Instance> {
    const module = await Test.createTestingModule({
      imports: [RateLimitModule.forRoot({ redis: redis as string, ...options })],
    })
      .setLogger({ log() {}, error() {}, warn() {} })
      .compile();
    await module.init();
    return new Instance(
      module.get(LimiterService),
      module.get(ServiceCharges),
      module.get<FailoverStore>(RateLimitStore),
      module.get(StoreWatch),
      module.get(RateLimitEvents),
      () => module.close(),
    );
  }

  get status(): StoreStatus {
    return this.watch.health.status;
  }

  /** Keys whose debts Redis has not been told yet. */
  get owed(): number {
    return this.store['options'].local.owed;
  }

  /** Under which Redis counts it. */
  redisKey(policy: NamedPolicy, key: string): string {
    return this.charges.chargeOf(policy, key).key;
  }

  consume(policy: NamedPolicy, key: string, cost?: number): Promise<Decision> {
    return this.limiter.consume(policy, key, { cost });
  }

  consumeAll(policy: NamedPolicy, keys: readonly string[]): Promise<CombinedDecision> {
    return this.limiter.consumeAll(keys.map((key) => ({ policy, key })));
  }

  /** How many of `times` calls, one after the other, are admitted. */
  async admitted(policy: NamedPolicy, key: string, times: number): Promise<number> {
    let count = 0;
    for (let n = 0; n < times; n++) if ((await this.consume(policy, key)).allowed) count++;
    return count;
  }

  /** Asks until the store is as it should be: an open breaker needs a call to look again. */
  until(
    state: StoreStatus['state'],
    policy: NamedPolicy,
    key: string,
    timeoutMs?: number,
  ): Promise<void> {
    return eventually(
      `the store is ${state}`,
      async () => {
        await this.consume(policy, key, 0);
        return this.status.state === state;
      },
      timeoutMs,
    );
  }
}
