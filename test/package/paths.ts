import { join } from 'node:path';

export const ROOT = join(__dirname, '../..');
export const FIXTURES = join(__dirname, 'fixtures');
export const NODE_MODULES = join(ROOT, 'node_modules');
