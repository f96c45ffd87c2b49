import { Controller, Get } from '@nestjs/common';
import { platforms } from '../support/platforms.js';

@Controller()
class OpenController {
  @Get() get() {
    return 'ok';
  }
}

const parts = {
  controllers: [OpenController],
  rateLimit: { tiers: [{ name: 'all', by: 'ip', policy: 'fixed-window:100/1h' }] },
} as const;

const SENT = /X-Forwarded-For was sent, and no proxy is trusted/;
const EVERYBODY = /trust proxy is true/;

describe.each(platforms)('warnings about proxies on $name', ({ start }) => {
  const app = (trustProxy: string | boolean) =>
    start({
      controllers: [...parts.controllers],
      rateLimit: { tiers: [...parts.rateLimit.tiers] },
      trustProxy,
    });

  it.each([
    ['nobody is trusted and no header comes', false, undefined, []],
    ['nobody is trusted and a header comes (SEC-04)', false, '203.0.113.9', [SENT]],
    ['the proxy is trusted', 'loopback', '203.0.113.9', []],
    ['the client names the proxy itself', 'loopback', '127.0.0.1', []],
    ['everybody is trusted (SEC-03)', true, '203.0.113.9', [EVERYBODY]],
  ] as const)('when %s', async (_case, trustProxy, forwarded, warnings) => {
    const { ask, log } = await app(trustProxy);
    const headers: Record<string, string> =
      forwarded === undefined ? {} : { 'x-forwarded-for': forwarded };

    for (let n = 0; n < 3; n++) await ask('/', { headers });

    const said = log.filter(({ level }) => level === 'warn').map(({ text }) => text);
    expect(said).toHaveLength(warnings.length);
    for (const [index, warning] of warnings.entries()) expect(said[index]).toMatch(warning);
  });
});
