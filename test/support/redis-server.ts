export { type RedisCluster, type RedisClusterOptions, startCluster } from './redis/cluster.js';
export { promote, startReplica } from './redis/replica.js';
export { type RedisSentinels, startSentinel } from './redis/sentinel.js';
export { RedisServer, type RedisServerOptions } from './redis/server.js';
