import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { format } from 'prettier';
import { ratio } from './statistics.mjs';

const OWN = 'nestjs-sluice';
const GROWTH =
  'Three tiers, 1000 keys, one process and one server where the row does not say otherwise; 64 in flight in each process.';

/** Writes results.json and results.md, formatted as the repository asks; answers the latter. */
export async function report(results) {
  const text = await format(markdown(results), { parser: 'markdown' });
  writeFileSync(join(import.meta.dirname, 'results.md'), text);
  const json = JSON.stringify(results, (key, value) => (key === 'rounds' ? undefined : value));
  const formatted = await format(json, { parser: 'json', printWidth: 100 });
  writeFileSync(join(import.meta.dirname, 'results.json'), formatted);
  if (!results.isQuick) await publish(results);
  return text;
}

/** Puts what everybody asks for into docs/performance.md, between its marks. */
async function publish(results) {
  const file = join(import.meta.dirname, '../docs/performance.md');
  const parts = {
    figures: `${machineLine(results.machine)}\n\n${figuresTable(results.figures)}`,
    growth: `${GROWTH}\n\n${growthTable(results.growth)}`,
  };
  let text = readFileSync(file, 'utf8');
  for (const [name, part] of Object.entries(parts)) {
    const marked = new RegExp(`<!-- ${name} -->.*<!-- /${name} -->`, 's');
    text = text.replace(marked, () => `<!-- ${name} -->\n\n${part}\n\n<!-- /${name} -->`);
  }
  writeFileSync(file, await format(text, { parser: 'markdown' }));
}

function machineLine({ date, cpu, cores, node, redis, versions }) {
  const packages = Object.entries(versions).map(([name, version]) => `${name} ${version}`);
  return `${date}, ${cpu}, ${cores} cores, Node ${node}, Redis ${redis}; ${packages.join(', ')}.`;
}

function figuresTable(figures) {
  return table(
    ['what', 'against', 'figure', 'measured', ''],
    figures.map((row) => [
      row.what,
      row.against,
      `${row.is === 'at least' ? '≥' : '≤'} ${number(row.figure)}`,
      number(row.measured),
      row.isMet ? 'met' : '**missed**',
    ]),
  );
}

function markdown(results) {
  const { machine, isQuick, figures, oneTier, threeTiers, inProcess, http, memoryPerKey } = results;
  return [
    '# Measured side by side',
    machineLine(machine),
    isQuick ? '**A quick run: rounds too short to conclude anything from.**' : '',
    'Values are medians of the rounds, ratios are medians of the quotients within a round. `README.md` says what each contender is given.',
    '## Figures',
    figuresTable(figures),
    '## Decisions through Redis',
    ...decisionTables('One tier', oneTier),
    ...decisionTables('Three tiers', threeTiers),
    '## In process',
    inProcessTable(inProcess),
    '## The same Nest app',
    ...Object.entries(http).flatMap(([platform, apps]) => [`### ${platform}`, httpTable(apps)]),
    '## Bytes in Redis for one client',
    countersTable(memoryPerKey.counters),
    logsTable(memoryPerKey.logs),
    '## One client far past its limit, 64 in flight',
    contenderTable(results.attack.contenders),
    results.attack.deniedCache ? `Denied cache: ${results.attack.deniedCache}.` : '',
    '## How cost grows',
    GROWTH,
    growthTable(results.growth),
  ].join('\n\n');
}

function decisionTables(title, byInFlight) {
  return Object.entries(byInFlight).flatMap(([inFlight, { clients, contenders }]) => [
    `### ${title}, ${inFlight} in flight`,
    contenderTable(contenders),
    `Clients: ${Object.entries(clients)
      .map(([name, client]) => `${name} ${client}`)
      .join(', ')}.`,
  ]);
}

function contenderTable(contenders) {
  const own = contenders[OWN].rounds;
  return table(
    ['', 'decisions/s', 'ours is', 'p50 ms', 'p99 ms', 'Node CPU µs', 'Redis CPU µs'],
    Object.entries(contenders).map(([name, { medians, rounds }]) => [
      name,
      Math.round(medians.decisionsPerSecond),
      `${number(ratio(own, rounds, 'decisionsPerSecond'))} ×`,
      ...[medians.p50Ms, medians.p99Ms, medians.nodeCpuUs, medians.redisCpuUs].map(number),
    ]),
  );
}

function inProcessTable({ speed, memory }) {
  return table(
    [
      '',
      'decisions/s',
      'Node CPU µs',
      'keys',
      'new keys/s',
      'heap bytes per key',
      'heap with twice the keys',
      'and twice as many again',
    ],
    Object.entries(speed).map(([name, { medians }]) => [
      name,
      Math.round(medians.decisionsPerSecond),
      number(medians.nodeCpuUs),
      memory[name].keys,
      Math.round(memory[name].newKeysPerSecond),
      Math.round(memory[name].bytesPerKey),
      `${number(memory[name].growthWithTwice)} ×`,
      `${number(memory[name].growthWithFourTimes)} ×`,
    ]),
  );
}

function httpTable(apps) {
  return table(
    ['limiter', 'requests/s', 'of the app without', 'p50 ms', 'p99 ms', 'app CPU µs', 'app busy'],
    Object.entries(apps).map(([name, { medians, rounds }]) => [
      name,
      Math.round(medians.requestsPerSecond),
      number(ratio(rounds, apps.none.rounds, 'requestsPerSecond')),
      ...[medians.p50Ms, medians.p99Ms, medians.nodeCpuUs, medians.appBusy].map(number),
    ]),
  );
}

function growthTable(growth) {
  return table(
    ['with', '', 'decisions/s', 'Node CPU µs', 'Redis CPU µs'],
    Object.entries(growth).flatMap(([what, byCount]) =>
      Object.entries(byCount).map(([count, { medians }]) => [
        what,
        count,
        Math.round(medians.decisionsPerSecond),
        number(medians.nodeCpuUs),
        number(medians.redisCpuUs),
      ]),
    ),
  );
}

function countersTable(counters) {
  return table(
    ['', 'MEMORY USAGE', 'growth of used_memory'],
    Object.entries(counters).map(([name, weight]) => [name, ...bytes(weight)]),
  );
}

function logsTable(logs) {
  return table(
    ['entries', 'log', 'sorted set', 'ratio', 'log, used_memory', 'sorted set, used_memory'],
    Object.entries(logs).map(([entries, { log, sortedSet }]) => [
      entries,
      bytes(log)[0],
      bytes(sortedSet)[0],
      number(log.memoryUsage / sortedSet.memoryUsage),
      bytes(log)[1],
      bytes(sortedSet)[1],
    ]),
  );
}

function bytes({ memoryUsage, usedMemory }) {
  return [Math.round(memoryUsage), Math.round(usedMemory)];
}

function table(head, rows) {
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

function line(cells) {
  return `| ${cells.join(' | ')} |`;
}

function number(value) {
  return value >= 100 ? String(Math.round(value)) : String(Number(value.toPrecision(3)));
}
