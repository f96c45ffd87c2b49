// The import arrows of ARCHITECTURE.md: algorithms <- policies <- stores <- the Nest layer.
// The Nest layer is the files directly in src, plus tiers (types only), transports, config, terminus and testing.

const REDIS_CLIENTS = '(^|/)(ioredis[0-9]*|iovalkey|redis|@redis)(/|$)';
const NEST = '(^|/)@nestjs/';
const REDIS_LAYER = '^src/(stores/redis/|[^/]+\\.(module|providers?)\\.ts$)';

/** Files of `folder` may import only themselves and what is listed; packages have their own rules. */
function folderImportsOnly(folder, allowed, comment) {
  return {
    name: `${folder}-imports`,
    comment,
    severity: 'error',
    from: { path: `^src/${folder}/` },
    to: { path: '^src/', pathNot: [`^src/${folder}/`, ...allowed] },
  };
}

const BASICS = '^src/(clock|deadline|recent-map)\\.ts$';

module.exports = {
  forbidden: [
    {
      name: 'algorithms-are-pure',
      comment: 'An algorithm is arithmetic: it imports nothing outside src/algorithms.',
      severity: 'error',
      from: { path: '^src/algorithms/' },
      to: { pathNot: '^src/algorithms/' },
    },
    folderImportsOnly('policies', ['^src/algorithms/'], 'Policies know algorithms and no store.'),
    folderImportsOnly(
      'stores',
      ['^src/algorithms/', '^src/policies/', BASICS],
      'Stores know algorithms, policies, time and caches; no HTTP, no Nest.',
    ),
    {
      name: 'identity-and-http-know-no-store',
      comment:
        'Who asks and how the answer is told do not depend on where counters live or on Nest.',
      severity: 'error',
      from: { path: '^src/(identity|http)/' },
      to: {
        path: '^src/(stores/|transports/|config/|terminus/|testing/|[^/]+\\.ts$)',
        pathNot: BASICS,
      },
    },
    {
      name: 'nest-stays-outside',
      comment:
        'Only the files directly in src, tiers, transports and the entry points import Nest.',
      severity: 'error',
      from: { path: '^src/[^/]+/', pathNot: '^src/(tiers|transports|config|terminus|testing)/' },
      to: { path: NEST },
    },
    {
      name: 'redis-clients-stay-in-the-redis-store',
      comment: 'Only src/stores/redis and the module or provider files in src know a Redis client.',
      severity: 'error',
      from: { path: '^src/', pathNot: REDIS_LAYER },
      to: { path: REDIS_CLIENTS, pathNot: '^src/' },
    },
    {
      name: 'redis-clients-are-optional',
      comment:
        'Redis clients are optional peers: import their types, or import() them when needed.',
      severity: 'error',
      from: { path: '^src/' },
      to: {
        path: REDIS_CLIENTS,
        pathNot: '^src/',
        dynamic: false,
        dependencyTypesNot: ['type-only', 'type-import'],
      },
    },
    {
      name: 'nobody-imports-the-barrel',
      comment: 'src/index.ts is for users; inside src it only makes cycles.',
      severity: 'error',
      from: { path: '^src/' },
      to: { path: '^src/index\\.ts$' },
    },
    {
      name: 'no-cycles',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'no-unresolvable',
      severity: 'error',
      from: {},
      to: { couldNotResolve: true },
    },
    {
      name: 'no-undeclared-packages',
      comment:
        'The published code may import only what package.json promises its users: the peers.',
      severity: 'error',
      from: { path: '^src/' },
      to: {
        dependencyTypes: ['npm-dev', 'npm-no-pkg', 'npm-unknown'],
        dependencyTypesNot: ['npm-peer'],
      },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    // Type-only imports count: an arrow in the types is an arrow in the design.
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: { conditionNames: ['import', 'require', 'node', 'default', 'types'] },
  },
};
