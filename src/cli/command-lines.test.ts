import { expect, test } from 'vitest';
import type { AtWork } from '../view.ts';
import { createCommandLines } from './command-lines.ts';
import { painter } from './terminal.ts';

const gate: AtWork = {
  task: '47fcb429',
  name: '#12',
  what: 'the gate',
  command: 'npm test',
  since: 0,
  lastLine: null,
  pid: 7,
};

function watched() {
  const said: string[] = [];
  let work: AtWork[] = [];
  const look = createCommandLines(async () => work, {
    print: (text) => void said.push(text.replace(/^\d\d:\d\d:\d\d {2}/, '')),
    paint: painter(false),
  });
  return {
    async at(now: number, ...running: AtWork[]): Promise<string[]> {
      work = running;
      await look(now);
      return said.splice(0);
    },
  };
}

test('a command is named once when it starts, and each run of it anew', async () => {
  const { at } = watched();
  expect(await at(0, gate)).toEqual(['#12 gate: `npm test`']);
  expect(await at(200, gate)).toEqual([]);
  expect(await at(400)).toEqual([]);
  expect(await at(600, { ...gate, pid: 8 })).toEqual(['#12 gate: `npm test`']);
});

test('a long one is named again every half minute, with how long and its last line', async () => {
  const { at } = watched();
  const printing = { ...gate, lastLine: '12 of 40 passed' };
  await at(0, gate);
  expect(await at(29_000, printing)).toEqual([]);
  expect(await at(30_000, printing)).toEqual(['#12 gate: `npm test`, 30 s: 12 of 40 passed']);
  expect(await at(59_000, printing)).toEqual([]);
  expect(await at(61_000, gate)).toEqual(['#12 gate: `npm test`, 1 min 1 s']);
});

test('what the loop itself runs has no task', async () => {
  const trial = { ...gate, task: null, name: null, what: 'the gate on trunk' };
  expect(await watched().at(0, trial)).toEqual(['gate on trunk: `npm test`']);
});
