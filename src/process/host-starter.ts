/** Starts the machine's own small programs (mkfifo, rm), which are given nothing but the way to programs. */
import { createStarter } from './starter.ts';

export const hostStarter = createStarter(() => ({ PATH: process.env.PATH ?? '', LC_ALL: 'C' }));
