/**
 * Codex's program: what npm installs as `codex` is a small node program that starts the native one and waits for it. We start
 * the native one ourselves, as Codex's own SDK does: node's start is spared in every turn, and its memory.
 */
import { constants } from 'node:fs';
import { access, readdir, realpath } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { AgentPolicy } from '../../core/policy.ts';
import { installHint } from '../install-hint.ts';
import { type Environment, onPath } from '../program-path.ts';

const CODEX_PACKAGE = '@openai/codex';
const CODEX_VERSION = '0.163.0';

export const notInstalled = (): string =>
  `the agent \`codex\` needs ${CODEX_PACKAGE}, which is neither installed beside forge-loop nor on the PATH: ${installHint([`${CODEX_PACKAGE}@${CODEX_VERSION}`])} (about 400 MB)`;

/** The operator's own command line for the app-server; null for the usual one, which is found wherever Codex is installed. */
export const ownLine = ({ command }: Pick<AgentPolicy, 'command'>): string | null =>
  command === null || /^\s*codex\s+app-server\s*$/.test(command) ? null : command;

/** The program's argv: the package beside us, else the one on the PATH; null when there is neither. */
export async function findCodex(operator: Environment): Promise<string[] | null> {
  try {
    return [process.execPath, createRequire(import.meta.url).resolve(`${CODEX_PACKAGE}/bin/codex.js`)];
  } catch {
    const path = await onPath('codex', operator);
    return path === null ? null : [path];
  }
}

/** The program that a package of somebody else's brings along; null when it has none. */
export async function codexOf(script: string): Promise<readonly string[] | null> {
  try {
    const wrapper = createRequire(await realpath(script)).resolve(`${CODEX_PACKAGE}/bin/codex.js`);
    return await withoutWrapper([process.execPath, wrapper]);
  } catch {
    return null;
  }
}

/** The same program without node around it; as it was given where it is not npm's, or is laid out in a way we do not know. */
export async function withoutWrapper(argv: readonly string[]): Promise<readonly string[]> {
  try {
    const wrapper = await realpath(argv.at(-1) ?? '');
    if (!wrapper.endsWith(`${CODEX_PACKAGE}/bin/codex.js`)) return argv;
    const platform = `${CODEX_PACKAGE}-${process.platform}-${process.arch}/package.json`;
    const vendor = join(dirname(createRequire(wrapper).resolve(platform)), 'vendor');
    const [target = ''] = await readdir(vendor);
    const native = join(vendor, target, 'bin', 'codex');
    await access(native, constants.X_OK);
    return [native];
  } catch {
    return argv;
  }
}
