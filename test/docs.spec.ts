import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

const root = join(__dirname, '..');

it('docs/security.md names the tests of every case, as they are called today', () => {
  const { stderr, status } = spawnSync(
    process.execPath,
    [join(root, 'scripts/security-table.mjs'), '--check'],
    { encoding: 'utf8' },
  );

  expect({ stderr, status }).toEqual({ stderr: '', status: 0 });
});
