import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const ROOT = join(__dirname, '..');
const SCRIPT = join(ROOT, 'scripts/embed-lua.mjs');
const OUTPUT = 'src/stores/redis/script.generated.ts';

describe('embed-lua', () => {
  let directory: string;

  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'sluice-embed-'));
  });

  afterEach(() => {
    rmSync(directory, { recursive: true });
  });

  function write(files: Record<string, string>): void {
    for (const folder of ['algorithms', 'shared']) {
      mkdirSync(join(directory, 'lua', folder), { recursive: true });
    }
    for (const [name, text] of Object.entries(files)) {
      writeFileSync(join(directory, 'lua', name), text);
    }
  }

  function embed(): string {
    execFileSync(process.execPath, [SCRIPT, directory]);
    return readFileSync(join(directory, OUTPUT), 'utf8');
  }

  function embedded(): { sha: string; lua: string } {
    const [, sha, lua] = /sha: '(\w+)', lua: ("[^]*") \} as const;\n$/.exec(embed()) ?? [];
    return { sha: sha ?? '', lua: JSON.parse(lua ?? 'null') as string };
  }

  function refusal(): string {
    const { status, stderr } = spawnSync(process.execPath, [SCRIPT, directory], {
      encoding: 'utf8',
    });
    expect(status).toBe(1);
    return stderr;
  }

  it('has run on what lua/ holds now, and says the same twice', () => {
    cpSync(join(ROOT, 'lua'), join(directory, 'lua'), { recursive: true });

    const first = embed();

    expect(embed()).toBe(first);
    expect(readFileSync(join(ROOT, OUTPUT), 'utf8')).toBe(first);
  });

  it('puts each folder in file-name order where it is included', () => {
    write({
      'decide.lua': 'local a = {}\n-- @include shared\n-- @include algorithms\nreturn a\n',
      'shared/window.lua': 'a.w = 0\n',
      'algorithms/b.lua': 'a.b = 2',
      'algorithms/a.lua': 'a.a = 1\n',
      'algorithms/notes.md': 'not Lua',
    });

    const { sha, lua } = embedded();

    expect(lua).toBe('local a = {}\na.w = 0\na.a = 1\na.b = 2\nreturn a\n');
    expect(sha).toBe(createHash('sha1').update(lua).digest('hex'));
  });

  it('keeps characters that are special in JavaScript', () => {
    const line = 'return "`${x}` $& \\\\ \\n \' é \u2028"';
    write({ 'decide.lua': `-- @include algorithms\n${line}\n` });

    expect(embedded().lua).toBe(`${line}\n`);
  });

  // Comments and indentation say nothing to Redis; everything else does.
  it.each([
    ['comment lines', '-- a\n  -- b\nreturn 1', 'return 1\n'],
    ['blank lines and indentation', '\n\n  return\r\n    1\n', 'return\n1\n'],
    ['a block comment of one line', '--[[ a ]]\nreturn 1', 'return 1\n'],
    ['a block comment of several lines', '--[[ a\n  b\n]]\nreturn 1', 'return 1\n'],
    ['a block comment with a level', '--[==[ a ]]\nb\n]==]\nreturn 1', 'return 1\n'],
  ])('strips %s', (_what, source, expected) => {
    write({ 'decide.lua': `-- @include algorithms\n${source}` });

    expect(embedded().lua).toBe(expected);
  });

  it('leaves a comment behind code alone', () => {
    write({ 'decide.lua': '-- @include algorithms\nreturn x[y[1]] -- why\n' });

    expect(embedded().lua).toBe('return x[y[1]] -- why\n');
  });

  it.each([
    ['no include line', 'return 1', 'found it 0 times'],
    ['two include lines', '-- @include algorithms\n-- @include algorithms', 'found it 2 times'],
    [
      'an unknown folder',
      '-- @include algorithms\n-- @include gone',
      'included and does not exist',
    ],
    ['an open block comment', '-- @include algorithms\n--[[ a', 'no closing "]]"'],
    ['code behind a block comment', '-- @include algorithms\n--[[ a ]] return 1', 'code follows'],
    ['a string over lines', '-- @include algorithms\nreturn [[\n a]]', 'not supported'],
  ])('refuses %s', (_what, source, sentence) => {
    write({ 'decide.lua': source });

    expect(refusal()).toContain(sentence);
  });

  it('refuses a folder without decide.lua', () => {
    expect(refusal()).toContain('decide.lua does not exist');
  });
});
