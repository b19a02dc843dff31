/**
 * What a stranger or an agent writes and the operator's terminal would obey: in titles, names of files and branches, messages of
 * commits, output of gates. Of none of it does anything reach a terminal but letters.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { openTerminal, painter, type Terminal } from '../../src/cli/terminal.ts';
import { event } from '../../src/core/event.ts';
import { eventLine } from '../../src/core/words/event-line.ts';
import type { Forge } from '../../src/forge/forge.ts';
import { redactingForge } from '../../src/forge/redacting.ts';
import { lastLineOf } from '../../src/last-line.ts';
import { fileLog } from '../../src/log.ts';

/** Each does something to a terminal that shows it as it is. */
const ATTEMPTS: readonly (readonly [name: string, text: string])[] = [
  ['clears the screen', '\x1b[2J\x1b[H'],
  ['overwrites the lines above', '\x1b[3A\x1b[2Kmerged'],
  ['overwrites its own line', 'failed\rpassed'],
  ['takes back what was written', 'failed\b\b\b\b\b\bpassed'],
  ['fills the clipboard', '\x1b]52;c;cm0gLXJmIH4=\x07'],
  ['retitles the window', '\x1b]0;root@host\x07'],
  ['has the terminal answer with what it was told', '\x1b[21t\x1bP$q"p\x1b\\'],
  ['links to somewhere else', '\x1b]8;;https://evil.test\x1b\\docs\x1b]8;;\x1b\\'],
  ['hides what follows', '\x1b[8mrm -rf ~\x1b[28m'],
  ['hides it in the background’s colour', '\x1b[30;40mrm -rf ~'],
  ['changes to another screen', '\x1b[?1049h'],
  ['changes to other letters', '\x1b(0\x0e'],
  ['has the mouse reported', '\x1b[?1003h'],
  ['begins a sequence by one character', '\x9b2J\x9d52;c;eA==\x9c'],
  ['rings', '\x07'.repeat(3)],
  ['turns letters round', 'exe\u202egpj.\u202c'],
  ['isolates letters', '\u2066a\u2069\u2067b\u2069'],
  ['ends a text early', 'a\0b\x1a\x04'],
  ['erases by DEL', 'failed\x7f\x7f'],
];

/** What may reach a terminal: letters, line breaks, tabs, and our own colours. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
const OBEYED = /(?!\x1b\[(?:1|2|22|3[1-46]|39)m)[\0-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/;

let folder = '';
let out: string[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'forge-escapes-'));
  out = [];
  for (const name of ['stdout', 'stderr'] as const)
    vi.spyOn(process[name], 'write').mockImplementation((line) => out.push(String(line)) > 0);
});
afterEach(() => {
  vi.restoreAllMocks();
  rmSync(folder, { recursive: true, force: true });
});

const opened = (json: boolean, color: boolean): Terminal =>
  openTerminal({ json, color, redact: (text) => text });

const EXITS: Record<string, (text: string) => Promise<string>> = {
  async 'the terminal'(text) {
    for (const color of [true, false]) {
      const terminal = opened(false, color);
      terminal.print(terminal.paint.red(`a file ${text}`));
      terminal.note(text);
    }
    return out.join('');
  },
  async 'the terminal, as JSON'(text) {
    opened(true, false).print(JSON.stringify({ text }, null, 2));
    expect(JSON.parse(out.join(''))).toEqual({ text });
    return out.join('');
  },
  async 'an event as `run` and `events` tell it'(text) {
    const refused = { role: 'coder', turn: 1, tool: text, detail: text, why: text } as const;
    const happened = { ...event('tool_refused', refused), id: 1, at: 0, task: 'a' } as never;
    opened(false, true).print(eventLine(happened, () => ({ name: text, issue: 1 }), painter(true)) ?? '');
    return out.join('');
  },
  async 'the log of the runner'(text) {
    const path = join(folder, 'runner.log');
    fileLog(path, undefined, (line) => out.push(line))('error', text, { tail: [text], of: { text } });
    await vi.waitFor(() => expect(readFileSync(path, 'utf8')).toContain('\n'));
    const log = readFileSync(path, 'utf8');
    expect(JSON.parse(log)).toMatchObject({ msg: text, of: { text } });
    return log + out.join('');
  },
  async 'comments, pull requests, reviews and messages of commits'(text) {
    const said: string[] = [];
    const heard = async (...words: unknown[]) => void said.push(...texts(words));
    const forge = redactingForge(
      {
        ...{ ensureComment: heard, reply: heard, updatePull: heard, postReview: heard },
        ...{ closePull: heard, ensurePull: heard, buildCandidate: heard },
      } as unknown as Forge,
      (one) => one,
    );
    await forge.ensureComment(1, 'm', text);
    await forge.reply({ kind: 'issue', number: 1, id: '1' } as never, 'm', text);
    await forge.updatePull(1, { title: text, body: text });
    await forge.ensurePull({ issue: 1, branch: 'b', title: text, body: text, marker: 'm' });
    await forge.closePull(1, text);
    const comments = [{ file: 'f', line: 1, body: text }];
    await forge.postReview(1, { marker: 'm', headSha: 's', verdict: 'APPROVE', body: text, comments });
    await forge.buildCandidate({ headSha: 's', baseSha: 's', method: 'squash', message: text, task: 'a' });
    expect(said.length).toBeGreaterThan(10);
    return said.join('');
  },
  async 'what a gate printed last'(text) {
    return lastLineOf(`first\n${text}`) ?? '';
  },
};

const texts = (value: unknown): string[] =>
  typeof value === 'string'
    ? [value]
    : typeof value === 'object' && value !== null
      ? Object.values(value).flatMap(texts)
      : [];

describe.each(Object.entries(EXITS))('by %s', (_, exit) => {
  test.each(ATTEMPTS)('%s', async (_name, text) => {
    expect(OBEYED.exec(await exit(text))).toBeNull();
  });
});

test('each of them would be obeyed as it is', () => {
  for (const [name, text] of ATTEMPTS) expect(text, name).toMatch(OBEYED);
});

test('our own colours stay, and what has none says what was there', () => {
  const terminal = opened(false, true);
  terminal.print(`${terminal.paint.red('red')} \x1b[2Jcleared, 工作 👩‍💻\tok`);
  opened(false, false).print('\x1b[31mred');
  expect(out).toEqual(['\x1b[31mred\x1b[39m \\u001b[2Jcleared, 工作 👩‍💻\tok\n', '\\u001b[31mred\n']);
});
