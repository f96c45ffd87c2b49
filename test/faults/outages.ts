import { Redis } from 'ioredis';
import type { FaultProxy } from '../support/fault-proxy.js';
import { platforms } from '../support/platforms.js';
import type { RedisServer } from '../support/redis-server.js';
import { Fleet, LIMIT, TIMEOUT_MS, TURN_MS, type Outage } from './fleet.js';
import { record } from './measurements.js';
import { Stops } from './stops.js';

export interface Setting {
  readonly server: RedisServer;
  /** One for each member of the fleet. */
  readonly proxies: readonly FaultProxy[];
  /** Past the proxies, connected before the fault. */
  readonly admin: Redis;
}

export type Fault = Pick<Outage, 'fault' | 'ids' | 'kind' | 'isLossy' | 'leapMs'> & {
  readonly strike: (setting: Setting) => unknown;
  readonly heal: (setting: Setting) => unknown;
  /** Further arguments of the server. */
  readonly args?: readonly string[];
  /** The server's name, instead of its address. */
  readonly host?: string;
};

/** Each fault against a fleet under load, with a server of its own. */
export function describeOutages(name: string, faults: readonly Fault[]): void {
  const stops = new Stops();

  describe(name, () => {
    it.each(faults)('$fault ($ids)', async ({ strike, heal, host, args, ...row }) => {
      const printed = jest.spyOn(console, 'error');
      const server = await stops.server(args);
      const proxies = await Promise.all(platforms.map(() => stops.proxy(server)));
      const admin = new Redis(server.url);
      admin.on('error', () => undefined);
      stops.add(() => admin.disconnect());
      await admin.ping();
      const setting = { server, proxies, admin };
      const fleet = await Fleet.start(
        proxies.map(({ url, port }) => (host === undefined ? url : `redis://${host}:${port}`)),
      );

      const measured = await fleet.endure({
        ...row,
        strike: () => strike(setting),
        heal: () => heal(setting),
      });

      record(measured);
      expect(measured.answers).toMatch(/^200 or 429 \(`fallback`\)$/);
      expect(measured.worstMs).toBeLessThan(TIMEOUT_MS + TURN_MS);
      expect(measured.admitted).toBeLessThanOrEqual(measured.bound);
      // Nobody who may pass is refused: what was charged and not told is less than one share.
      expect(measured.admitted).toBeGreaterThan(LIMIT / 2);
      // A line a transition, and one for the first failure of each kind: none a request.
      expect(fleet.errors.length).toBeLessThanOrEqual(fleet.transitions + 3 * platforms.length);
      // RED-54: ioredis prints what nobody listens to.
      expect(printed).not.toHaveBeenCalled();
    });
  });
}
