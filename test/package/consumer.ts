import { cpSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Packed } from './packed.js';
import { FIXTURES, NODE_MODULES } from './paths.js';
import { runNode } from './run.js';

export interface Peers {
  /** The node_modules that they are linked from. */
  readonly from: string;
  readonly names: readonly string[];
}

/** The module formats that apps are compiled to, with what package.json says of them. */
const FORMATS = { esm: 'module', cjs: 'commonjs' } as const;

export type Format = keyof typeof FORMATS;

export const NODE_NEXT = { module: 'nodenext', moduleResolution: 'nodenext' };
export const NODE_10 = {
  module: 'commonjs',
  moduleResolution: 'node10',
  ignoreDeprecations: '6.0',
};

const COMPILER_OPTIONS = {
  target: 'es2023',
  lib: ['es2023'],
  types: ['node'],
  strict: true,
  isolatedModules: true,
  esModuleInterop: true,
  experimentalDecorators: true,
  emitDecoratorMetadata: true,
  skipLibCheck: true,
  rootDir: 'src',
  outDir: 'dist',
};

/** A folder with the package and its peers in node_modules, and with apps that use them. */
export class Consumer {
  private constructor(readonly directory: string) {}

  static async create(directory: string, packed: Packed, peers: Peers): Promise<Consumer> {
    const consumer = new Consumer(directory);
    const modules = join(directory, 'node_modules');
    await packed.unpack(consumer.installed);
    for (const name of peers.names) link(join(peers.from, name), join(modules, name));
    link(join(NODE_MODULES, '@types/node'), join(modules, '@types/node'));
    for (const [format, type] of Object.entries(FORMATS)) {
      for (const fixtures of ['app', 'types']) {
        const target = join(directory, 'src', format, fixtures);
        cpSync(join(FIXTURES, fixtures), target, { recursive: true });
      }
      writeJson(join(directory, 'src', format, 'package.json'), { type });
      writeJson(join(directory, 'dist', format, 'package.json'), { type });
    }
    return consumer;
  }

  get installed(): string {
    return join(this.directory, 'node_modules/nestjs-sluice');
  }

  /** Compiles sources, folders below `src`; rejects with the compiler's messages. */
  async compile(options: object, include: readonly string[] = ['']): Promise<void> {
    const compilerOptions = { ...COMPILER_OPTIONS, ...options };
    const folders = include.map((folder) => join('src', folder));
    writeJson(join(this.directory, 'tsconfig.json'), { compilerOptions, include: folders });
    await runNode([join(NODE_MODULES, 'typescript/bin/tsc')], { cwd: this.directory });
  }

  compiled(format: Format, file: string): string {
    return join(this.directory, 'dist', format, file);
  }

  /** What a script of the given module format reports. */
  async evaluate(format: Format, script: string): Promise<unknown> {
    const args = [`--input-type=${FORMATS[format]}`, '--eval', script];
    return lastLine(await runNode(args, { cwd: this.directory }));
  }
}

/** Nest may log to standard output before a script reports. */
export function lastLine(output: string): unknown {
  return JSON.parse(output.slice(output.lastIndexOf('\n') + 1));
}

function link(target: string, path: string): void {
  mkdirSync(dirname(path), { recursive: true });
  symlinkSync(target, path, 'junction');
}

function writeJson(path: string, value: object): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, `${JSON.stringify(value)}\n`);
}
