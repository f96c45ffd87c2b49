import { join } from 'node:path';
import { Consumer } from './consumer.js';
import { nest11Modules } from './nest-11.js';
import { Packed } from './packed.js';
import { NODE_MODULES } from './paths.js';

const REQUIRED_PEERS = ['@nestjs/common', '@nestjs/core', 'reflect-metadata', 'rxjs'];
const APP_PACKAGES = [
  ...REQUIRED_PEERS,
  '@nestjs/config',
  '@nestjs/platform-express',
  '@nestjs/platform-fastify',
  '@nestjs/terminus',
  '@nestjs/testing',
  'ioredis',
];

/** Where the package is installed. */
export interface Places {
  /** With ioredis 5. */
  readonly 'Nest 11': Consumer;
  /** With ioredis 6. */
  readonly 'Nest 12': Consumer;
  /** Nest 12 and nothing that is not required. */
  readonly bare: Consumer;
}

export async function openPlaces(directory: string): Promise<{ packed: Packed; places: Places }> {
  const [packed, nest11] = await Promise.all([Packed.into(directory), nest11Modules()]);
  const open = (name: string, from: string, names: readonly string[]): Promise<Consumer> =>
    Consumer.create(join(directory, name), packed, { from, names });
  const places = {
    'Nest 11': await open('nest-11', nest11, APP_PACKAGES),
    'Nest 12': await open('nest-12', NODE_MODULES, APP_PACKAGES),
    bare: await open('bare', NODE_MODULES, REQUIRED_PEERS),
  };
  return { packed, places };
}
