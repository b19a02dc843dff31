/** The channels that start a program: the desktop's is a stand-in that writes down what it was told. */
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { hostProcesses } from '../process/host.ts';
import { MARK } from '../process/process.ts';
import { commandChannel } from './command.ts';
import { type ChannelUnderTest, channelContract, channelPolicy, message } from './contract.ts';
import { desktopChannel } from './desktop.ts';
import { SEND_TIMEOUT_MS } from './notify.ts';
import { openChannels } from './open.ts';
import type { RunProgram } from './programs.ts';

/** Reads its arguments and standard input into one line of JSON; fails or hangs where it is told to. */
const PROGRAM = `#!/usr/bin/env node
const { appendFileSync, existsSync, readFileSync, rmSync } = require('node:fs');
const folder = process.env.TOLD;
appendFileSync(folder + '/arrived', JSON.stringify({ argv: process.argv.slice(2), stdin: readFileSync(0, 'utf8') }) + '\\n');
if (existsSync(folder + '/hang')) setInterval(() => {}, 1000);
else if (existsSync(folder + '/fail')) {
  console.error(readFileSync(folder + '/fail', 'utf8'));
  rmSync(folder + '/fail');
  process.exit(3);
}
`;

async function open(kind: 'command' | 'desktop', platform = 'linux'): Promise<ChannelUnderTest> {
  const folder = mkdtempSync(join(tmpdir(), 'forge-notify-'));
  for (const name of ['notify-send', 'osascript', 'tell']) {
    writeFileSync(join(folder, name), PROGRAM);
    chmodSync(join(folder, name), 0o755);
  }
  const env = { PATH: `${folder}:${process.env.PATH}`, TOLD: folder };
  const run: RunProgram = ({ message: id, pass: _pass, ...child }) =>
    hostProcesses().launch({
      ...child,
      cwd: folder,
      env: { ...env, [MARK]: `notify-${id}` },
      logPath: join(folder, 'log'),
      timeoutMs: SEND_TIMEOUT_MS * 4,
    });
  const arrived = (): Told[] =>
    existsSync(join(folder, 'arrived'))
      ? readFileSync(join(folder, 'arrived'), 'utf8')
          .trim()
          .split('\n')
          .map((line) => JSON.parse(line))
      : [];
  return {
    channel:
      kind === 'command'
        ? commandChannel(run)
        : desktopChannel({ platform, isThere: async (program) => existsSync(join(folder, program)), run }),
    policy: channelPolicy({ kind, command: kind === 'command' ? 'tell' : null, token: 'verysecrettoken' }),
    arrived: () =>
      arrived().map(({ argv, stdin }) => (kind === 'command' ? stdin : argv.slice(-2).join('\n'))),
    showsId: kind === 'command',
    hasMarkup: kind === 'desktop',
    failNext: (says) => writeFileSync(join(folder, 'fail'), says),
    hangNext: () => writeFileSync(join(folder, 'hang'), ''),
    somethingArrived: () => expect.poll(() => arrived().length, { timeout: 60_000 }).toBeGreaterThan(0),
    shown: (sent) =>
      kind === 'command'
        ? Object.values(JSON.parse(sent).data).join('\n')
        : sent.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&'),
    dispose: async () => rmSync(folder, { recursive: true, force: true }),
  };
}

interface Told {
  argv: string[];
  stdin: string;
}

channelContract('command', () => open('command'));
channelContract('desktop', () => open('desktop'));

test('on macOS the text is an argument of the script and no part of it', async () => {
  const subject = await open('desktop', 'darwin');
  const channels = openChannels([subject.channel]);
  const text = '" & (do shell script "id") & "';
  const hostile = message([
    { id: '1', kinds: ['merged'], at: 0, task: null, issue: null, title: 'title', text },
  ]);
  const options = { signal: new AbortController().signal, onHeld: async () => {} };
  expect(await channels.send(hostile, subject.policy, options)).toEqual({ kind: 'sent' });
  expect(subject.arrived()).toEqual([`[project] title\n${text}`]);
  await subject.dispose();
});

test('a desktop without its program says what to install', async () => {
  const channel = desktopChannel({
    platform: 'linux',
    isThere: async () => false,
    run: async () => expect.fail('started'),
  });
  expect(await openChannels([channel]).problem(channelPolicy({ kind: 'desktop' }))).toContain('libnotify');
});
