import dns from 'node:dns';
import type { FaultProxy } from '../support/fault-proxy.js';
import { describeOutages, type Fault } from './outages.js';

const each = (proxies: readonly FaultProxy[], act: (proxy: FaultProxy) => unknown) =>
  Promise.all(proxies.map(act));

const pass = (proxies: readonly FaultProxy[]) =>
  each(proxies, (proxy) => (proxy.fault = { kind: 'pass' }));

const faults: Fault[] = [
  {
    fault: 'killed (SIGKILL), back empty',
    ids: ['RED-02', 'RED-07', 'RED-46'],
    kind: 'not-sent',
    isLossy: true,
    strike: ({ server }) => server.kill(),
    heal: ({ server }) => server.restart(),
  },
  {
    fault: 'hung (SIGSTOP)',
    ids: ['RED-03'],
    kind: 'ambiguous',
    strike: ({ server }) => server.pause(),
    heal: ({ server }) => server.resume(),
  },
  {
    fault: 'slower than the deadline',
    ids: ['RED-05'],
    kind: 'ambiguous',
    strike: ({ proxies }) => each(proxies, (proxy) => (proxy.fault = { kind: 'slow', ms: 80 })),
    heal: ({ proxies }) => pass(proxies),
  },
  {
    fault: 'half-open TCP: no FIN, no RST',
    ids: ['RED-28'],
    kind: 'ambiguous',
    strike: ({ proxies }) => each(proxies, (proxy) => (proxy.fault = { kind: 'blackhole' })),
    heal: ({ proxies }) => pass(proxies),
  },
  {
    fault: 'replies lost, then reset',
    ids: ['RED-29'],
    kind: 'ambiguous',
    strike: ({ proxies }) => each(proxies, (proxy) => (proxy.fault = { kind: 'drop-replies' })),
    heal: async ({ proxies }) => {
      await pass(proxies);
      await each(proxies, (proxy) => proxy.reset());
    },
  },
  {
    fault: 'replies cut in the middle, then reset',
    ids: ['RED-30'],
    kind: 'ambiguous',
    strike: ({ proxies }) =>
      each(proxies, (proxy) => (proxy.fault = { kind: 'cut-replies', afterBytes: 3 })),
    heal: ({ proxies }) => pass(proxies),
  },
  {
    fault: 'garbage among the replies',
    ids: ['RED-31'],
    kind: 'ambiguous',
    strike: ({ proxies }) => each(proxies, (proxy) => (proxy.fault = { kind: 'garbage' })),
    heal: ({ proxies }) => pass(proxies),
  },
  {
    fault: 'connections refused',
    ids: ['RED-01'],
    kind: 'not-sent',
    strike: async ({ proxies }) => {
      await each(proxies, (proxy) => proxy.refuse());
      await each(proxies, (proxy) => proxy.reset());
    },
    heal: ({ proxies }) => each(proxies, (proxy) => proxy.accept()),
  },
  {
    fault: 'its name unknown to DNS',
    ids: ['RED-32'],
    kind: 'not-sent',
    host: 'localhost',
    strike: ({ proxies }) => {
      jest
        .spyOn(dns, 'lookup')
        .mockImplementation(((_host: string, _options: unknown, done: (error: Error) => void) =>
          setImmediate(() => done(noSuchHost()))) as never);
      return each(proxies, (proxy) => proxy.reset());
    },
    heal: () => jest.restoreAllMocks(),
  },
];

function noSuchHost(): Error {
  const syscall = 'getaddrinfo';
  return Object.assign(new Error(`${syscall} ENOTFOUND`), { code: 'ENOTFOUND', syscall });
}

describeOutages('a line to Redis', faults);
