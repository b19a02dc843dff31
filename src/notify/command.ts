/** Any program: a shell command of the operator's that reads the message as JSON on its standard input. Exit 0 is sent. */
import type { Channel } from './notify.ts';
import { payloadOf } from './payload.ts';
import { type RunProgram, sentBy } from './programs.ts';

export const commandChannel = (run: RunProgram): Channel => ({
  kind: 'command',
  problem: async ({ name, command }) =>
    command === null ? `notify.channels.${name}.command is not set` : null,
  async send(message, { command, passEnv }, { signal, onHeld }) {
    const argv = ['/bin/sh', '-c', command!];
    const stdin = `${payloadOf(message)}\n`;
    return sentBy(await run({ message: message.id, argv, stdin, pass: passEnv, signal, onHeld }));
  },
});
