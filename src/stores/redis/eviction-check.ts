/** Redis's own words for what it does when memory is full. */
const KEEPS_ALL = 'noeviction';

interface InformingClient {
  info(section: string): Promise<string>;
}

/**
 * What to warn of when Redis may evict counters: an evicted counter is a fresh quota, and all of ours
 * have a time to live, so the `volatile-` policies take them too. Undefined when it keeps them, has no
 * limit, or does not tell.
 */
export async function evictionWarning(client: unknown): Promise<string | undefined> {
  if (typeof (client as Partial<InformingClient> | null)?.info !== 'function') return undefined;
  let memory: string;
  try {
    // Not CONFIG GET, which hosted Redis does not permit. Of a cluster, one node.
    memory = await (client as InformingClient).info('memory');
  } catch {
    return undefined;
  }
  const policy = /^maxmemory_policy:([\w-]+)/m.exec(memory)?.[1];
  const limit = Number(/^maxmemory:(\d+)/m.exec(memory)?.[1] ?? 0);
  if (policy === undefined || policy === KEEPS_ALL || limit === 0) return undefined;
  return `Redis may evict counters, and an evicted counter is a fresh quota: maxmemory-policy is '${policy}' with maxmemory ${limit}; use '${KEEPS_ALL}' on an instance of its own`;
}
