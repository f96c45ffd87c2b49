// These packages are published as ES modules only; Jest runs CommonJS, so swc compiles them too.
// A new dependency that fails with "Must use import to load ES Module" belongs in this list.
const esmOnly = ['@nestjs', 'cookie'];

module.exports = {
  testEnvironment: 'node',
  testMatch: ['<rootDir>/test/**/*.spec.ts'],
  testTimeout: 30_000,
  maxWorkers: 2,
  testSequencer: '<rootDir>/test/support/longest-first.cjs',
  moduleFileExtensions: ['ts', 'js', 'json'],
  moduleNameMapper: {
    '^nestjs-sluice$': '<rootDir>/src/index.ts',
    '^nestjs-sluice/(config|terminus|testing)$': '<rootDir>/src/$1/index.ts',
    '^(\\.{1,2}/.*)\\.js$': '$1',
  },
  // dist holds a second package.json, which Jest's module map would otherwise pick up.
  modulePathIgnorePatterns: ['<rootDir>/dist/'],
  transform: {
    '^.+\\.[tj]s$': [
      '@swc/jest',
      {
        swcrc: false,
        sourceMaps: 'inline',
        module: { type: 'commonjs' },
        jsc: {
          target: 'es2022',
          keepClassNames: true,
          parser: { syntax: 'typescript', decorators: true },
          transform: { legacyDecorator: true, decoratorMetadata: true },
        },
      },
    ],
  },
  transformIgnorePatterns: [
    `/node_modules/(?!(?:(?:@[^/]+/)?[^/]+/node_modules/)?(?:${esmOnly.join('|')})/)`,
  ],
  coverageProvider: 'v8',
  coverageDirectory: 'coverage',
  collectCoverageFrom: ['src/**/*.ts', '!src/**/*.generated.ts', '!src/**/index.ts'],
  coverageReporters: ['text-summary', 'lcov'],
};
