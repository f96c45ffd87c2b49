import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../package/paths.js';
import { run } from '../package/run.js';

interface Manifest {
  readonly scripts: Record<string, string>;
  readonly peerDependencies: Record<string, string>;
  readonly peerDependenciesMeta: Record<string, { readonly optional?: boolean }>;
}

const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as Manifest;

describe('the package (SEC-70)', () => {
  it('brings no other package along', () => {
    for (const kind of ['dependencies', 'optionalDependencies', 'bundleDependencies']) {
      expect(manifest).not.toHaveProperty(kind);
    }
    expect(manifest).not.toHaveProperty('bundledDependencies');
  });

  it('asks for nothing that a Nest app has not, unless it is optional', () => {
    const { peerDependencies, peerDependenciesMeta } = manifest;
    const required = Object.keys(peerDependencies).filter(
      (name) => peerDependenciesMeta[name]?.optional !== true,
    );

    expect(required).toEqual(['@nestjs/common', '@nestjs/core', 'reflect-metadata', 'rxjs']);
  });

  it('runs nothing when it is installed', async () => {
    const hooks = ['preinstall', 'install', 'postinstall', 'prepublish', 'prepare'];
    const [packed] = JSON.parse(
      await run('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], { cwd: ROOT }),
    ) as [{ files: { path: string }[] }];
    const paths = packed.files.map(({ path }) => path);

    expect(hooks.filter((hook) => hook in manifest.scripts)).toEqual([]);
    expect(manifest).not.toHaveProperty('bin');
    // npm builds a package that has one, without being asked.
    expect(paths.filter((path) => /binding\.gyp$|\.node$|node_modules/.test(path))).toEqual([]);
  });
});
