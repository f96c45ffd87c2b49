// Runs the fault suite and writes what it measured into the table of docs/failure.md.
// Arguments go to Jest, such as a spec: then only its rows would be known, so nothing is written.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { format, resolveConfig } from 'prettier';

const root = join(import.meta.dirname, '..');
const page = join(root, 'docs/failure.md');
const BEGIN = '<!-- measured by npm run faults -->';
const END = '<!-- end of what was measured -->';

await main(process.argv.slice(2));

async function main(options) {
  const measurements = runSuite(options);
  if (measurements === undefined) process.exitCode = 1;
  else if (options.length === 0) await rewrite(measurements);
  else console.log(table(measurements));
}

/** Undefined when a test has failed: what such a run measures is not to be shown. */
function runSuite(options) {
  const directory = mkdtempSync(join(tmpdir(), 'sluice-faults-'));
  const file = join(directory, 'measurements.jsonl');
  try {
    writeFileSync(file, '');
    const { status } = spawnSync(
      process.execPath,
      ['node_modules/jest/bin/jest.js', '-w', '1', 'test/faults', ...options],
      { cwd: root, stdio: 'inherit', env: { ...process.env, SLUICE_FAULT_REPORT: file } },
    );
    if (status !== 0) return undefined;
    const lines = readFileSync(file, 'utf8').split('\n').filter(Boolean);
    return lines.map((line) => JSON.parse(line));
  } finally {
    rmSync(directory, { recursive: true });
  }
}

async function rewrite(measurements) {
  const text = readFileSync(page, 'utf8');
  const [before, rest] = text.split(BEGIN);
  const after = rest?.split(END)[1];
  if (after === undefined) throw new Error(`${page} has no place for the table`);
  const written = [before + BEGIN, table(measurements), END + after].join('\n\n');
  const config = await resolveConfig(page);
  writeFileSync(page, await format(written, { ...config, parser: 'markdown' }));
}

function table(measurements) {
  const rows = measurements.toSorted((a, b) => number(a) - number(b)).map(cells);
  const head = ['fault', '', 'answers', 'worst', 'noticed', 'admitted of the limit', 'recovered'];
  return [head, head.map(() => '---'), ...rows].map((row) => `| ${row.join(' | ')} |`).join('\n');
}

function number({ ids }) {
  return Number(ids[0].replace('RED-', ''));
}

function cells({ fault, ids, answers, worstMs, detectedMs, admitted, limit, bound, recoveredMs }) {
  return [
    fault,
    ids.join(', '),
    answers ?? '',
    ms(worstMs),
    ms(detectedMs),
    admitted === undefined ? '' : `${admitted} of ${limit}, bound ${bound}`,
    ms(recoveredMs),
  ];
}

function ms(time) {
  if (time === undefined) return '';
  return time < 1_000 ? `${Math.round(time)} ms` : `${(time / 1_000).toFixed(1)} s`;
}
