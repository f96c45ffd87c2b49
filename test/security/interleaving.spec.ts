import { Controller, Get } from '@nestjs/common';
import { setImmediate as turn } from 'node:timers/promises';
import {
  RateLimit,
  RateLimitResult,
  type Decision,
  type RateLimitContext,
} from '../../src/index.js';
import { platforms } from '../support/platforms.js';

/** Answers after so many turns of the event loop, while others are asked. */
const later =
  <T>(turns: number, answer: T) =>
  async (): Promise<T> => {
    for (let n = 0; n < turns; n++) await turn();
    return answer;
  };
const byTeam =
  (turns: number) =>
  async ({ request }: RateLimitContext): Promise<string> => {
    const { headers } = request as { headers: Record<string, string> };
    return later(turns, headers['x-team']!)();
  };
const told = (decisions: readonly Decision[]) => decisions.map(({ limit }) => limit);

@Controller()
class Routes {
  @Get('slow')
  @RateLimit({ algorithm: 'fixed-window', window: '1h', limit: later(7, 3), by: byTeam(5) })
  slow(@RateLimitResult() decisions: Decision[]) {
    return told(decisions);
  }
  @Get('quick')
  @RateLimit({
    algorithm: 'gcra',
    window: '1h',
    limit: later(1, 9),
    burst: later(2, 5),
    by: byTeam(1),
  })
  quick(@RateLimitResult() decisions: Decision[]) {
    return told(decisions);
  }
  @Get('dear')
  @RateLimit({ policy: 'fixed-window:20/1h', cost: later(3, 10), by: byTeam(9) })
  dear(@RateLimitResult() decisions: Decision[]) {
    return told(decisions);
  }
}

const ROUTES = [
  { path: '/slow', limit: 3, admitted: 3 },
  { path: '/quick', limit: 9, admitted: 5 },
  { path: '/dear', limit: 20, admitted: 2 },
];
const TEAMS = ['red', 'green', 'blue'];

it.each(platforms)(
  'requests under way at the same time keep their own numbers and clients, on $name (SEC-54, user report 49)',
  async ({ start }) => {
    const { ask } = await start({ controllers: [Routes] });
    const asked = Array.from({ length: 12 }, () =>
      TEAMS.flatMap((team) => ROUTES.map((route) => ({ team, ...route }))),
    ).flat();

    const answers = await Promise.all(
      asked.map(async ({ team, path, ...rest }) => ({
        ...rest,
        of: `${team} ${path}`,
        answer: await ask(path, { headers: { 'x-team': team } }),
      })),
    );

    for (const { team, path, limit, admitted } of asked.slice(0, TEAMS.length * ROUTES.length)) {
      const own = answers.filter((each) => each.of === `${team} ${path}`);
      const passed = own.filter(({ answer }) => answer.status === 200);

      expect(own).toHaveLength(12);
      expect(passed.map(({ answer }): unknown => answer.body)).toEqual(
        Array.from({ length: admitted }, () => [limit]),
      );
      for (const { answer } of own) expect(answer.headers['x-ratelimit-limit']).toBe(String(limit));
    }
  },
);
