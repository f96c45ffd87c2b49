import { Controller, Get } from '@nestjs/common';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { runInThisContext } from 'node:vm';
import { transpile } from 'typescript';
import type { RateLimitOptions } from '../src/index.js';
import { platforms } from './support/platforms.js';

const root = join(__dirname, '..');

describe('docs/security.md', () => {
  it('names the tests of every case, as they are called today', () => {
    const { stderr, status } = spawnSync(
      process.execPath,
      [join(root, 'scripts/security-table.mjs'), '--check'],
      { encoding: 'utf8' },
    );

    expect({ stderr, status }).toEqual({ stderr: '', status: 0 });
  });

  it.each(platforms)(
    'has a safe configuration that works as it stands, on $name',
    async ({ start }) => {
      @Controller()
      class Target {
        @Get() get() {
          return 'got';
        }
      }
      const env = { RATE_LIMIT_SECRET: '0123456789abcdef0123456789abcdef' };
      const keys = { find: (key: string) => (key === 'real' ? { id: 'acme', plan: 'pro' } : null) };
      const rateLimit = documentedOptions({ env }, keys);
      const { ask, log } = await start({ rateLimit, controllers: [Target] });
      const told = async (key: string) =>
        (await ask('/', { headers: { 'x-api-key': key } })).headers['x-ratelimit-limit'];

      expect([await told('real'), await told('made-up')]).toEqual(['600', '60']);
      expect(log).toEqual([]);
    },
  );
});

/** What the page writes, evaluated with what it leaves to the app. */
function documentedOptions(...app: object[]): RateLimitOptions {
  const page = readFileSync(join(root, 'docs/security.md'), 'utf8');
  const [, options] = /^RateLimitModule\.forRoot\((\{.*?^\})\)/ms.exec(page)!;
  const evaluate = runInThisContext(transpile(`(process, keys) => (${options})`)) as (
    ...given: object[]
  ) => RateLimitOptions;
  return evaluate(...app);
}
