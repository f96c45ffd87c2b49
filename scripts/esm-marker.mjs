// The package is CommonJS by default; this file tells Node that dist/esm is not.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

const marker = join(import.meta.dirname, '../dist/esm/package.json');
writeFileSync(marker, `${JSON.stringify({ type: 'module' })}\n`);
