import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

export interface RunOptions {
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** What a process of its own prints. It knows nothing of Jest; if it fails, its output is thrown. */
export async function run(command: string, args: string[], options: RunOptions): Promise<string> {
  const { NODE_OPTIONS: _, JEST_WORKER_ID: __, NODE_ENV: ___, ...inherited } = process.env;
  try {
    const { stdout } = await promisify(execFile)(command, args, {
      cwd: options.cwd,
      env: { ...inherited, ...options.env },
      maxBuffer: 2 ** 26,
      timeout: 110_000,
      // npm is a .cmd file on Windows, which only a shell runs.
      shell: process.platform === 'win32' && command === 'npm',
    });
    return stdout.trim();
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string };
    throw new Error(`${command} ${args.join(' ')} failed:\n${stdout}\n${stderr}`, { cause: error });
  }
}

export function runNode(args: string[], options: RunOptions): Promise<string> {
  return run(process.execPath, args, options);
}
