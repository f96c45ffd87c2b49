import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/** Bytes of the heap that are in use when all garbage is gone. */
export function settledHeap(): number {
  collect();
  return process.memoryUsage().heapUsed;
}
