import { startRedis } from '../redis-server.mjs';

const SLOTS = 16_384;
// A node that has met no other does not know its own address.
const SETTINGS = ['--cluster-enabled', 'yes', '--cluster-announce-ip', '127.0.0.1'];

/** So many masters that share all slots, with the CPU of all of them. */
export async function startCluster(count) {
  const servers = [];
  for (let n = 0; n < count; n++) servers.push(await startRedis(SETTINGS));
  const first = (index) => Math.ceil((index * SLOTS) / count);
  for (const [index, { admin }] of servers.entries()) {
    await admin.call('CLUSTER', 'SET-CONFIG-EPOCH', index + 1);
    await admin.call('CLUSTER', 'ADDSLOTSRANGE', first(index), first(index + 1) - 1);
  }
  for (const { url } of servers.slice(1)) {
    const { hostname, port } = new URL(url);
    await servers[0].admin.call('CLUSTER', 'MEET', hostname, port);
  }
  for (const { admin } of servers) {
    while (!(await isUp(admin, count))) await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return {
    nodes: servers.map(({ url }) => ({
      host: new URL(url).hostname,
      port: Number(new URL(url).port),
    })),
    cpuUs: async () => {
      const all = await Promise.all(servers.map((server) => server.cpuUs()));
      return all.reduce((sum, us) => sum + us, 0);
    },
    stop: () => Promise.all(servers.map((server) => server.stop())),
  };
}

async function isUp(admin, count) {
  const info = await admin.cluster('INFO');
  return info.includes('cluster_state:ok') && info.includes(`cluster_known_nodes:${count}`);
}
