// Everything that has to hold before a change lands, on a machine with only Node and npm.
// Arguments go to Jest. The last line printed is always "N passed, N failed".
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..');
const CHECKS = ['lint', 'typecheck', 'format', 'build'];

const result = test();
console.log(`${result.passed} passed, ${result.failed} failed`);
process.exitCode = result.failed === 0 ? 0 : 1;

function test() {
  if (!run(process.execPath, ['scripts/setup.mjs', 'test'])) return { passed: 0, failed: 1 };
  for (const check of CHECKS) {
    console.log(`\n# ${check}`);
    if (!run('npm', ['run', '--silent', check])) {
      console.log(`\n${check} failed`);
      return { passed: 0, failed: 1 };
    }
  }
  console.log('\n# jest');
  return jest();
}

function jest() {
  const directory = mkdtempSync(join(tmpdir(), 'sluice-jest-'));
  const report = join(directory, 'report.json');
  try {
    const succeeded = run(process.execPath, [
      'node_modules/jest/bin/jest.js',
      '--json',
      `--outputFile=${report}`,
      ...process.argv.slice(2),
    ]);
    return count(report, succeeded);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

function count(report, succeeded) {
  const counts = readReport(report);
  const passed = counts?.numPassedTests ?? 0;
  const failed = (counts?.numFailedTests ?? 0) + (counts?.numRuntimeErrorTestSuites ?? 0);
  // Jest also fails for what is no test: no spec found, a coverage threshold, a crash.
  return { passed, failed: succeeded && passed > 0 ? failed : Math.max(failed, 1) };
}

function readReport(report) {
  try {
    return JSON.parse(readFileSync(report, 'utf8'));
  } catch {
    return undefined;
  }
}

function run(command, args) {
  const { status } = spawnSync(command, args, {
    cwd: root,
    stdio: ['ignore', 'inherit', 'inherit'],
    // npm is a .cmd file on Windows, which only a shell runs.
    shell: process.platform === 'win32' && command === 'npm',
  });
  return status === 0;
}
