// Writes into docs/security.md which tests hold each case of the security catalogue, found by the
// IDs in the tests' titles. With --check nothing is written, and a table that is not up to date fails.
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { CASES, UNTESTED } from './security-cases.mjs';

const root = join(import.meta.dirname, '..');
const page = join(root, 'docs/security.md');
const BEGIN = '<!-- prettier-ignore-start -->\n<!-- made by: npm run docs:security -->\n';
const END = '\n<!-- prettier-ignore-end -->';
const ID = /SEC-\d+/g;

const problems = [];
const tests = testsById();
const table = tableOf(tests);
const current = readFileSync(page, 'utf8');
const made = withTable(current, table);
if (process.argv.includes('--check')) {
  if (made !== current) problems.push('docs/security.md is not up to date: npm run docs:security');
} else writeFileSync(page, made);
for (const problem of problems) console.error(problem);
process.exitCode = problems.length === 0 ? 0 : 1;

function tableOf(byId) {
  const lines = ['| case | what is tried | held by |', '| --- | --- | --- |'];
  for (const [id, scenario] of Object.entries(CASES)) {
    const found = byId.get(id) ?? [];
    const reason = UNTESTED[id];
    if (found.length === 0 && reason === undefined) problems.push(`${id} has no test`);
    if (found.length > 0 && reason !== undefined) problems.push(`${id} has a test, and a reason`);
    lines.push(`| ${id} | ${scenario} | ${found.length > 0 ? listed(found) : reason} |`);
  }
  for (const id of byId.keys()) if (!(id in CASES)) problems.push(`${id} is no known case`);
  return lines.join('\n');
}

/** The tests of a case, file by file. */
function listed(found) {
  return [...new Set(found.map(({ file }) => file))]
    .map((file) => {
      const own = found.filter((test) => test.file === file);
      const titles = new Set(own.map(({ title }) => escaped(title)));
      const name = file.replace(/^test\//, '').replace(/(\.spec)?\.ts$/, '');
      return `[${name}](../${file}): ${[...titles].join('; ')}`;
    })
    .join('<br>');
}

function escaped(title) {
  return title.replaceAll('|', String.raw`\|`).replaceAll('<', '&lt;');
}

function withTable(markdown, rows) {
  const begin = markdown.indexOf(BEGIN);
  const end = markdown.indexOf(END);
  if (begin < 0 || end < begin) throw new Error('docs/security.md has no place for the table');
  return `${markdown.slice(0, begin + BEGIN.length)}\n${rows}\n${markdown.slice(end)}`;
}

function testsById() {
  const byId = new Map();
  for (const file of testFiles()) {
    const source = readFileSync(join(root, file), 'utf8');
    const named = new Set();
    for (const { ids, title } of titlesOf(
      ts.createSourceFile(file, source, ts.ScriptTarget.ES2022),
    )) {
      for (const id of ids) {
        named.add(id);
        byId.set(id, [...(byId.get(id) ?? []), { file, title }]);
      }
    }
    const unnamed = (source.match(ID) ?? []).filter((id) => !named.has(id));
    if (unnamed.length > 0) problems.push(`${file}: no title has ${unnamed.join(', ')}`);
  }
  return byId;
}

function testFiles() {
  return readdirSync(join(root, 'test'), { recursive: true })
    .filter((file) => file.endsWith('.ts'))
    .map((file) => `test/${file.replaceAll('\\', '/')}`)
    .toSorted();
}

/** Every `it` and `describe` whose own title, or a row of whose table, has IDs. */
function titlesOf(file) {
  const found = [];
  const visit = (node, parents) => {
    const block = ts.isCallExpression(node) ? blockOf(node) : undefined;
    if (block === undefined) return ts.forEachChild(node, (child) => visit(child, parents));
    const titles = [...parents, block.title];
    const add = (text, row) => {
      const ids = text.match(ID) ?? [];
      if (ids.length > 0) found.push({ ids, title: told([...titles, row]) });
    };
    add(block.title, '');
    for (const text of rowTexts(block.rows, file)) add(text, text);
    for (const argument of node.arguments.slice(1)) visit(argument, titles);
  };
  visit(file, []);
  return found;
}

/** The last that is said of a test, and of what it is said. */
function told(titles) {
  return titles.map(readable).filter(Boolean).slice(-2).join(': ');
}

/** What `it('…', …)`, `describe.each(rows)('…', …)` and their like say; undefined for other calls. */
function blockOf({ expression, arguments: [title] }) {
  const isTable = ts.isCallExpression(expression);
  const callee = isTable ? expression.expression : expression;
  const name = ts.isPropertyAccessExpression(callee) ? callee.expression : callee;
  if (!ts.isIdentifier(name) || !['it', 'test', 'describe'].includes(name.text)) return undefined;
  if (title === undefined || !isText(title)) return undefined;
  return { title: textOf(title), rows: isTable ? expression.arguments[0] : undefined };
}

function isText(node) {
  return ts.isStringLiteralLike(node) || ts.isTemplateExpression(node);
}

function textOf(title) {
  if (ts.isStringLiteralLike(title)) return title.text;
  return title.head.text + title.templateSpans.map(({ literal }) => `…${literal.text}`).join('');
}

/** The texts of a table, which stands in the call or in a constant of the file. */
function rowTexts(rows, file) {
  if (rows === undefined) return [];
  const texts = [];
  const visit = (node) => {
    if (isText(node)) texts.push(textOf(node));
    ts.forEachChild(node, visit);
  };
  visit(ts.isIdentifier(rows) ? (constantOf(rows.text, file) ?? rows) : rows);
  return texts;
}

function constantOf(name, file) {
  let value;
  const visit = (node) => {
    if (ts.isVariableDeclaration(node) && node.name.text === name) value = node.initializer;
    ts.forEachChild(node, visit);
  };
  visit(file);
  return value;
}

/** Without IDs, and without what stands for the values of a row. */
function readable(title) {
  const text = title
    .replace(/\s*\((?:[A-Z]+-\d+|user report \d+|[\s,]+)+\)/g, '')
    .replace(/^(?:[A-Z]+-\d+(?:, )?)+:?\s*/, '')
    .replace(/\$[\w.]+|%[sdpjo]/g, '…')
    .replace(/(?:,? (?:on|in|of|with|when|by|for|at|the|is))* …$|[:,]? …$/, '')
    .replace(/^…:? /, '')
    .trim();
  return /\w{3}/.test(text) ? text : '';
}
