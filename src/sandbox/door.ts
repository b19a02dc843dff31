/** How a confined command is started behind a door of the gateway, and told so. */
import { fileURLToPath } from 'node:url';
import type { Way } from '../core/role.ts';
import type { Command } from './sandbox.ts';

export const DOOR = fileURLToPath(new URL('./door-program.js', import.meta.url));

export const throughDoor = ({ port, socket, offer }: Way, argv: readonly string[]): string[] => [
  ...[process.execPath, DOOR, String(port), socket, offer],
  ...argv,
];

/** Where to go out; options that a toolchain is given besides stay as they are. */
export const told = (way: Way, env: Command['env']): Record<string, string> => ({
  ...way.env,
  ...(env.JAVA_TOOL_OPTIONS && {
    JAVA_TOOL_OPTIONS: `${env.JAVA_TOOL_OPTIONS} ${way.env.JAVA_TOOL_OPTIONS ?? ''}`,
  }),
});
