/** What stands below a command's options: wrapped as the rest of its help is. */
import type { AddHelpTextContext } from 'commander';
import { wrapped } from './layout.ts';

export const below =
  (text: string) =>
  ({ command }: AddHelpTextContext): string =>
    wrapped(`\n${text}`, command.configureOutput().getOutHelpWidth?.() ?? WIDTH, HANG);

/** Commander's own, where nobody says how wide the screen is. */
const WIDTH = 80;
const HANG = 4;

/** Commander would rather not wrap than have fewer columns than this for a description. */
export const LEAST_COLUMNS = 20;
