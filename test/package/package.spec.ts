import { cpSync, existsSync, mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { RedisServer } from '../support/redis-server.js';
import { NODE_10, NODE_NEXT, lastLine } from './consumer.js';
import { exportedNames, importedPackages } from './declarations.js';
import type { Packed } from './packed.js';
import { FIXTURES, NODE_MODULES, ROOT } from './paths.js';
import { openPlaces, type Places } from './places.js';
import { PUBLIC_API } from './public-api.js';
import { runNode } from './run.js';

const COMPILER_TIMEOUT_MS = 60_000;
/** Entry points that need a peer which not every app has. */
const OF_OPTIONAL_PEERS = /dist.(cjs|esm).(config|terminus)/;

let directory: string;
let packed: Packed;
let places: Places;
let redis: RedisServer;
/** Every app has a Redis database of its own. */
let nextDatabase = 0;

beforeAll(async () => {
  directory = realpathSync(mkdtempSync(join(tmpdir(), 'sluice-package-')));
  redis = await RedisServer.start();
  ({ packed, places } = await openPlaces(directory));
}, 120_000);

afterAll(async () => {
  await redis?.stop();
  rmSync(directory, { recursive: true, force: true });
});

describe('the tarball', () => {
  it('holds the two builds, the scripts and the papers, and nothing else', () => {
    const papers = ['CHANGELOG.md', 'LICENSE', 'README.md', 'package.json'];
    const known = /^(dist\/(cjs|esm)\/.+(\.js|\.d\.ts)|lua\/.+\.lua)$/;

    expect(packed.files.filter((file) => !known.test(file))).toEqual(
      [
        'dist/esm/package.json',
        ...papers.filter((file) => existsSync(join(ROOT, file))),
      ].toSorted(),
    );
    expect(packed.files).toContain('lua/decide.lua');
  });

  it('has each file in both builds', () => {
    const files = packed.files.filter((file) => file !== 'dist/esm/package.json');
    const [cjs, esm] = ['dist/cjs/', 'dist/esm/'].map((build) =>
      files.filter((file) => file.startsWith(build)).map((file) => file.slice(build.length)),
    );

    expect(cjs).toContain('index.js');
    expect(cjs).toEqual(esm);
  });

  it('points to no source map and makes no symbol that another copy would not have', () => {
    const pattern = /sourceMappingURL|\bSymbol\(/;

    const found = installed('.js').filter((file) => pattern.test(readFileSync(file, 'utf8')));

    expect(found).toEqual([]);
  });

  it('declares types in terms of Nest and RxJS only', () => {
    const all = installed('.d.ts');
    const importsOf = (entryPoint: RegExp): string[] =>
      importedPackages(all.filter((file) => entryPoint.test(file)));

    expect(importedPackages(all.filter((file) => !OF_OPTIONAL_PEERS.test(file)))).toEqual([
      '@nestjs/common',
      '@nestjs/core',
      'node:events',
      'node:http',
      'rxjs',
    ]);
    expect(importsOf(/dist.(cjs|esm).config.index/)).toEqual(['@nestjs/config']);
    expect(importsOf(/dist.(cjs|esm).terminus/)).toEqual(['@nestjs/terminus']);
  });
});

describe('the public API', () => {
  it.each(PUBLIC_API)('of $entryPoint is what it was', async (expected) => {
    const { entryPoint, file, values, types } = expected;
    const build = (name: string): string =>
      join(places['Nest 12'].installed, 'dist', name, `${file}.d.ts`);

    expect(exportedNames(build('esm'))).toEqual({ values, types });
    expect(exportedNames(build('cjs'))).toEqual({ values, types });
    expect(
      await places['Nest 12'].evaluate(
        'esm',
        `import * as imported from '${entryPoint}';
         console.log(JSON.stringify(Object.keys(imported).sort()));`,
      ),
    ).toEqual(values);
  });

  it('has tokens and metadata keys that two copies of the package share', async () => {
    expect(await places['Nest 12'].evaluate('cjs', fixture('two-copies.cjs'))).toEqual({
      copies: 2,
      optionsToken: ['RATE_LIMIT_MODULE_OPTIONS', 'RATE_LIMIT_MODULE_OPTIONS'],
      redisToken: ['nestjs-sluice:redis', 'nestjs-sluice:redis'],
      metadataKeys: [['nestjs-sluice:marks'], ['nestjs-sluice:marks']],
    });
  });
});

describe.each(['Nest 11', 'Nest 12'] as const)('with %s', (place) => {
  beforeAll(() => places[place].compile(NODE_NEXT), COMPILER_TIMEOUT_MS);

  it.each([
    [
      'imported',
      'esm',
      `import { createRequire } from 'node:module';
       const require = createRequire(import.meta.url);`,
    ],
    ['required', 'cjs', ''],
  ] as const)('is one copy, %s', async (_how, format, prelude) => {
    const seen = await places[place].evaluate(format, prelude + fixture('one-copy.cjs'));

    expect(seen).toEqual({ entryPoints: 4, differing: [] });
  });

  it.each([
    ['ES modules', 'esm'],
    ['CommonJS', 'cjs'],
  ] as const)('limits an app of %s', async (_name, format) => {
    const { directory: cwd } = places[place];

    expect(await report(places[place].compiled(format, 'app/main.js'), cwd)).toEqual({
      memory: answers('memory', place),
      redis: answers('redis', place),
      fastify: answers('memory', place),
      testing: [200, 200, 429, 200],
      configured: [true, false],
      healthy: ['ok', 'up', 'memory'],
    });
  });
});

describe('with tools that know less than Node', () => {
  it(
    'has types for node10 resolution',
    async () => {
      const compiled = places['Nest 11'].compile({ ...NODE_10, noEmit: true }, ['cjs/types']);

      await expect(compiled).resolves.toBeUndefined();
    },
    COMPILER_TIMEOUT_MS,
  );

  it('limits an app in Jest without ES modules', async () => {
    const { directory: rootDir } = places['Nest 11'];
    cpSync(join(FIXTURES, 'plain-jest.cjs'), join(rootDir, 'plain.test.js'));
    const config = JSON.stringify({ rootDir, testEnvironment: 'node', transform: {} });
    const jest = join(NODE_MODULES, 'jest/bin/jest.js');

    const run = runNode([jest, '--ci', '--config', config], { cwd: rootDir });

    await expect(run).resolves.toBeDefined();
  });

  it.each([
    ['esbuild', 'bundle.cjs'],
    ['esbuild', 'bundle.mjs'],
    ['webpack', 'bundle.cjs'],
  ])(
    'is one copy, with its Lua, when %s makes %s',
    async (bundler, output) => {
      const { directory: cwd } = places['Nest 12'];
      cpSync(join(FIXTURES, 'bundle/app'), cwd, { recursive: true });
      // Nothing can be loaded from where the bundle is run.
      const alone = mkdtempSync(join(directory, 'bundle-'));
      const bundle = join(alone, output);

      const script = join(FIXTURES, `bundle/${bundler}.mjs`);
      await runNode([script, join(cwd, 'entry.mjs'), bundle], { cwd });

      expect(await report(bundle, alone)).toEqual({
        memory: answers('memory', 'Nest 12'),
        redis: answers('redis', 'Nest 12'),
        copies: 1,
      });
    },
    COMPILER_TIMEOUT_MS,
  );
});

describe('without optional peers', () => {
  const BUILD = `process.cwd() + '/node_modules/nestjs-sluice/dist/cjs'`;

  it.each([
    ['imported', 'esm', 'import(name)'],
    ['required', 'cjs', 'require(name)'],
    ['the CommonJS build', 'cjs', `require(name.replace('nestjs-sluice', ${BUILD}) + '/index.js')`],
  ] as const)('boots and says what a Redis URL needs, %s', async (_how, format, load) => {
    const script = `const load = (name) => ${load};\n${fixture('without-peers.cjs')}`;

    expect(await places.bare.evaluate(format, script)).toEqual([
      'RateLimitConfigurationError',
      'RateLimit: redis: needs the package ioredis to connect; ' +
        'run npm install ioredis, or pass a client of your own',
    ]);
  });

  it(
    'has declarations without errors',
    async () => {
      const files = installed('.d.ts', 'bare').filter((file) => !OF_OPTIONAL_PEERS.test(file));
      const script = join(FIXTURES, 'declaration-errors.mjs');

      const errors = lastLine(await runNode([script, ...files], { cwd: places.bare.directory }));

      expect(errors).toEqual([]);
    },
    COMPILER_TIMEOUT_MS,
  );
});

function fixture(name: string): string {
  return readFileSync(join(FIXTURES, name), 'utf8');
}

function installed(ending: string, place: keyof Places = 'Nest 12'): string[] {
  return packed.files
    .filter((file) => file.endsWith(ending))
    .map((file) => join(places[place].installed, file));
}

/** What `fixtures/app/express.ts` is answered when decisions come from the given source. */
function answers(source: 'memory' | 'redis', place: keyof Places): string[] {
  const decided = `edge: ${source}, route: ${source}, edge: ${source}`;
  // The adapters of Nest 11 give every error body this type.
  const problem = place === 'Nest 11' ? 'application/json' : 'application/problem+json';
  return [
    `200, 1 of 2, ${decided}`,
    `200, 0 of 2, ${decided}`,
    `429, 0 of 2, ${problem}, retry after 30 min`,
    '404, 0 of 4, application/json, retry after 0 min',
    '429, 0 of 4, application/problem+json, retry after 15 min',
  ];
}

async function report(file: string, cwd: string): Promise<unknown> {
  const env = { REDIS_URL: `${redis.url}/${nextDatabase++}` };
  return lastLine(await runNode([file], { cwd, env }));
}
