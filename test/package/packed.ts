import { existsSync, mkdirSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './paths.js';
import { run } from './run.js';

/** The tarball as `npm publish` would send it. */
export class Packed {
  private constructor(
    private readonly tarball: string,
    /** Paths inside the package. */
    readonly files: readonly string[],
  ) {}

  static async into(directory: string): Promise<Packed> {
    await buildUnlessFresh();
    await run('npm', ['pack', '--silent', '--ignore-scripts', '--pack-destination', directory], {
      cwd: ROOT,
    });
    const [name] = readdirSync(directory).filter((file) => file.endsWith('.tgz'));
    const listing = await run('tar', ['-tzf', name!], { cwd: directory });
    const files = listing.split(/\r?\n/).map((path) => path.replace(/^package\//, ''));
    return new Packed(join(directory, name!), files.toSorted());
  }

  async unpack(directory: string): Promise<void> {
    mkdirSync(directory, { recursive: true });
    await run('tar', ['-xzf', this.tarball, '--strip-components=1'], { cwd: directory });
  }
}

/** `npm test` has built already; Jest alone may find an older dist, or none. */
async function buildUnlessFresh(): Promise<void> {
  const built = newest(join(ROOT, 'dist'), (path) => path.endsWith('esm/package.json'));
  const sources = [
    newest(join(ROOT, 'lua'), () => true),
    newest(join(ROOT, 'src'), (path) => !path.endsWith('.generated.ts')),
    statSync(join(ROOT, 'tsconfig.build.json')).mtimeMs,
  ];
  if (built <= Math.max(...sources)) await run('npm', ['run', 'build'], { cwd: ROOT });
}

function newest(directory: string, isWanted: (path: string) => boolean): number {
  if (!existsSync(directory)) return 0;
  const files = readdirSync(directory, { recursive: true, encoding: 'utf8' })
    .map((path) => path.replaceAll('\\', '/'))
    .filter(isWanted);
  return Math.max(0, ...files.map((path) => statSync(join(directory, path)).mtimeMs));
}
