import { Module } from '@nestjs/common';
import { CustomerStore } from './customer.store.js';

@Module({ providers: [CustomerStore], exports: [CustomerStore] })
export class CustomersModule {}
