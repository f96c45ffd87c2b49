/**
 * A bounded cache in two generations: when the young one is full it becomes the old one, and the
 * old one is dropped. What is used stays; no order is kept, no entry is timed.
 */
export class RecentMap<K, V> {
  private young = new Map<K, V>();
  private old = new Map<K, V>();

  /** Keeps the last `size` entries used, and up to twice that. */
  constructor(private readonly size: number) {}

  get(key: K): V | undefined {
    const value = this.young.get(key);
    if (value !== undefined) return value;
    const older = this.old.get(key);
    if (older !== undefined) this.set(key, older);
    return older;
  }

  delete(key: K): void {
    this.young.delete(key);
    this.old.delete(key);
  }

  set(key: K, value: V): void {
    this.young.set(key, value);
    if (this.young.size < this.size) return;
    this.old = this.young;
    this.young = new Map();
  }
}
