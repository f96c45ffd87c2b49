import { Injectable } from '@nestjs/common';
import type { Customer } from './customer.js';

/** Stands for a table of customers. A real one keeps hashes of the keys, not the keys. */
@Injectable()
export class CustomerStore {
  private readonly byKey = new Map<string, Customer>([
    ['demo-free-key', { id: 'customer-1', plan: 'free' }],
    ['demo-pro-key', { id: 'customer-2', plan: 'pro' }],
  ]);

  find(apiKey: string | undefined): Customer | null {
    return (apiKey !== undefined && this.byKey.get(apiKey)) || null;
  }
}
