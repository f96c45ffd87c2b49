import { request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { LoggerService, ModuleMetadata, Type } from '@nestjs/common';
import { ExpressAdapter, type NestExpressApplication } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { Test, type TestingModuleBuilder } from '@nestjs/testing';
import {
  RateLimitModule,
  type RateLimitModuleExtras,
  type RateLimitOptions,
} from '../../src/index.js';
import { ManualClock } from '../../src/testing/index.js';

/** The start of a minute, so that windows of tests begin where their requests do. */
export const START_MS = 1_764_510_000_000;

export type RateLimit = RateLimitOptions & RateLimitModuleExtras;

/** What an app under test is made of. */
export interface AppParts extends ModuleMetadata {
  /** Options of forRoot; the clock is added. `false`: the test imports the module itself. */
  readonly rateLimit?: RateLimit | false;
  readonly trustProxy?: string | boolean;
  /** Before the app is initialised: middleware, versioning, body parsers. */
  readonly prepare?: (app: NestExpressApplication) => void;
  readonly override?: (builder: TestingModuleBuilder) => TestingModuleBuilder;
}

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** Parsed when it is JSON. */
  readonly body: any;
  readonly text: string;
}

export interface Ask {
  readonly method?: string;
  readonly headers?: Record<string, string | string[]>;
  readonly body?: string;
  /** Of this machine: `'127.0.0.2'` is another client. */
  readonly from?: string;
}

export interface LogLine {
  readonly level: string;
  readonly text: string;
}

/** A listening app, its clock, and what it has said under the name of this library. */
export interface RunningApp {
  readonly app: NestExpressApplication;
  readonly clock: ManualClock;
  readonly log: readonly LogLine[];
  readonly port: number;
  readonly ask: (path: string, ask?: Ask) => Promise<Answer>;
  /** How many of `times` requests, one after the other, are not refused. */
  readonly admitted: (path: string, times: number, ask?: Ask) => Promise<number>;
}

export interface Platform {
  readonly name: 'express' | 'fastify';
  readonly start: (parts: AppParts) => Promise<RunningApp>;
}

/** For `describe.each(platforms)('on $name', …)`; apps are closed after each test. */
export const platforms: readonly Platform[] = [
  { name: 'express', start: (parts) => start('express', parts) },
  { name: 'fastify', start: (parts) => start('fastify', parts) },
];

const open: NestExpressApplication[] = [];

afterEach(async () => {
  await Promise.all(open.splice(0).map((app) => app.close()));
});

async function start(name: Platform['name'], parts: AppParts): Promise<RunningApp> {
  const clock = new ManualClock(START_MS);
  const log: LogLine[] = [];
  const { rateLimit = {}, trustProxy = false, prepare, override, imports = [], ...rest } = parts;
  const limits = rateLimit === false ? [] : [RateLimitModule.forRoot({ clock, ...rateLimit })];
  const builder = Test.createTestingModule({ imports: [...limits, ...imports], ...rest });
  builder.setLogger(capturing(log));
  const compiled = await (override?.(builder) ?? builder).compile();
  const adapter = name === 'express' ? new ExpressAdapter() : fastify(trustProxy);
  const app = compiled.createNestApplication<NestExpressApplication>(adapter);
  open.push(app);
  if (name === 'express') app.set('trust proxy', trustProxy);
  prepare?.(app);
  await app.listen(0);

  const { port } = app.getHttpServer().address() as AddressInfo;
  const ask: RunningApp['ask'] = (path, options) => exchange(port, path, options);
  return {
    app,
    clock,
    log,
    port,
    ask,
    async admitted(path, times, options) {
      let count = 0;
      for (let n = 0; n < times; n++) {
        const { status } = await ask(path, options);
        if (![429, 503].includes(status)) count++;
      }
      return count;
    },
  };
}

/** Spelled leniently, as Express does by default. */
function fastify(trustProxy: string | boolean): FastifyAdapter {
  return new FastifyAdapter({
    trustProxy,
    routerOptions: { ignoreTrailingSlash: true, caseSensitive: false },
  });
}

function capturing(log: LogLine[]): LoggerService {
  const to =
    (level: string) =>
    (message: unknown, ...rest: unknown[]) => {
      if (rest.at(-1) === 'RateLimit') log.push({ level, text: String(message) });
    };
  return { log: to('log'), error: to('error'), warn: to('warn'), debug: to('debug') };
}

function exchange(port: number, path: string, options: Ask = {}): Promise<Answer> {
  const { method = 'GET', headers = {}, body, from } = options;
  return new Promise((resolve, reject) => {
    const request = httpRequest(
      { host: '127.0.0.1', port, path, method, headers, localAddress: from, agent: false },
      (response) => {
        let text = '';
        response.setEncoding('utf8');
        response.on('data', (chunk: string) => (text += chunk));
        response.on('error', reject);
        response.on('end', () => {
          const isJson = /json/.test(String(response.headers['content-type']));
          const parsed: unknown = isJson && text !== '' ? JSON.parse(text) : text;
          resolve({
            status: response.statusCode!,
            headers: response.headers,
            body: parsed,
            text,
          });
        });
      },
    );
    request.on('error', reject);
    request.end(body);
  });
}

/** The message of the one error that keeps an app from starting, or undefined when it starts. */
export async function bootError(
  options: unknown,
  controllers: Type[] = [],
): Promise<string | undefined> {
  try {
    const imports = [RateLimitModule.forRoot(options as RateLimit)];
    const module = Test.createTestingModule({ imports, controllers });
    const app = (await module.compile()).createNestApplication(new ExpressAdapter());
    open.push(app as NestExpressApplication);
    await app.init();
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}
