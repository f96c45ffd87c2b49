import { RecentMap } from '../recent-map.js';
import type { Client } from './client.js';

const REMEMBERED = 10_000;
/** Longer ids are made anew each time, so that ids of a megabyte do not fill the memory. */
const REMEMBERED_LENGTH = 512;

/** The client of each user, remembered by its id. */
export class Users {
  private readonly known = new RecentMap<string, Client>(REMEMBERED);

  clientOf(id: string): Client {
    const known = this.known.get(id);
    if (known !== undefined) return known;
    // Shared between requests, so nobody may change it.
    const client: Client = Object.freeze({ kind: 'user', id });
    if (id.length <= REMEMBERED_LENGTH) this.known.set(id, client);
    return client;
  }
}
