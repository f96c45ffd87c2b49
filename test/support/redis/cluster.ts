import { Redis } from 'ioredis';
import { eventually } from '../eventually.js';
import { freePorts } from './free-ports.js';
import { RedisServer } from './server.js';

const SLOTS = 16_384;

export interface RedisClusterOptions {
  readonly masters?: number;
  /** In all; they are dealt to the masters in turn. */
  readonly replicas?: number;
}

export interface RedisCluster {
  readonly masters: readonly RedisServer[];
  readonly replicas: readonly RedisServer[];
  /** What a cluster client starts from. */
  readonly nodes: readonly { readonly host: string; readonly port: number }[];
  readonly stop: () => Promise<void>;
}

interface Node {
  readonly server: RedisServer;
  readonly busPort: number;
  readonly client: Redis;
}

/** Takes over two seconds: Redis holds a new master unwritable that long. */
export async function startCluster(options: RedisClusterOptions = {}): Promise<RedisCluster> {
  const { masters: masterCount = 3, replicas: replicaCount = 0 } = options;
  const busPorts = await freePorts(masterCount + replicaCount);
  const nodes = await Promise.all(busPorts.map(startNode));
  const masters = nodes.slice(0, masterCount);
  const replicas = nodes.slice(masterCount);

  await shareSlots(masters);
  await introduce(nodes);
  await attach(replicas, masters);
  await Promise.all(nodes.map(untilWritable));
  nodes.forEach(({ client }) => client.disconnect());

  const servers = nodes.map(({ server }) => server);
  return {
    masters: servers.slice(0, masterCount),
    replicas: servers.slice(masterCount),
    nodes: servers.map(({ host, port }) => ({ host, port })),
    stop: async () => {
      await Promise.all(servers.map((server) => server.stop()));
    },
  };
}

async function startNode(busPort: number): Promise<Node> {
  const server = await RedisServer.start({
    args: [
      '--cluster-enabled',
      'yes',
      '--cluster-port',
      `${busPort}`,
      '--cluster-node-timeout',
      '2000',
    ],
  });
  return { server, busPort, client: new Redis(server.url) };
}

async function shareSlots(masters: readonly Node[]): Promise<void> {
  const firstSlot = (index: number) => Math.ceil((index * SLOTS) / masters.length);
  await Promise.all(
    masters.map(async ({ client }, index) => {
      await client.call('CLUSTER', 'SET-CONFIG-EPOCH', index + 1);
      await client.call('CLUSTER', 'ADDSLOTSRANGE', firstSlot(index), firstSlot(index + 1) - 1);
    }),
  );
}

async function introduce(nodes: readonly Node[]): Promise<void> {
  const { client } = nodes[0]!;
  await Promise.all(
    nodes
      .slice(1)
      .map(({ server, busPort }) =>
        client.call('CLUSTER', 'MEET', server.host, server.port, busPort),
      ),
  );
  await Promise.all(
    nodes.map((node) =>
      eventually(`node ${node.server.port} knows all others`, async () =>
        (await info(node)).includes(`cluster_known_nodes:${nodes.length}\r`),
      ),
    ),
  );
}

async function attach(replicas: readonly Node[], masters: readonly Node[]): Promise<void> {
  await Promise.all(
    replicas.map(async ({ server, client }, index) => {
      const master = masters[index % masters.length]!;
      const id = await master.client.call('CLUSTER', 'MYID');
      await client.call('CLUSTER', 'REPLICATE', String(id));
      await eventually(`replica ${server.port} is in sync`, async () =>
        (await client.info('replication')).includes('master_link_status:up'),
      );
    }),
  );
}

function untilWritable(node: Node): Promise<void> {
  return eventually(`node ${node.server.port} sees the cluster up`, async () =>
    (await info(node)).includes('cluster_state:ok'),
  );
}

async function info({ client }: Node): Promise<string> {
  return String(await client.call('CLUSTER', 'INFO'));
}
