/** The full screen in a real terminal (tmux): what a person sees, what their keys do, and what is left when they go. */
import { expect } from 'vitest';
import { planFile, planText } from '../support/e2e/loops.ts';
import { PROGRAM } from '../support/e2e/program.ts';
import { hasTmux, openWindow, type Window } from '../support/e2e/window.ts';
import { test as inWorld, type World } from '../support/e2e/world.ts';

// There is no terminal to draw on without it; CI installs tmux.
const test = hasTmux ? inWorld : inWorld.skip;

const open = (world: World, size: { columns: number; rows: number }): Window =>
  openWindow(world, ['watch'], size);

const withinWidth = (screen: string, columns: number): void => {
  for (const line of screen.split('\n')) expect([...line].length).toBeLessThanOrEqual(columns);
};

test('a task that waits for a person is seen, looked into and approved; the screen follows its merge', async ({
  world,
}) => {
  world.settings({ critic: { enabled: false } });
  const issue = await world.issue({ title: 'Write the file' });
  const runner = world.run();
  await world.event('hold_set', ({ reason }) => reason === 'needs_approval');
  const window = open(world, { columns: 100, rows: 30 });
  expect(await window.shows('needs_approval')).toContain('Write the file');

  window.type('Enter');
  await window.shows('critic rounds');
  window.type('d');
  await window.shows(`done-${issue}.txt`);
  window.type('Enter');
  await window.shows('@@');
  window.type('Escape');
  await window.shows('> +1');
  // Twice in a row is twice back.
  window.type('Enter');
  await window.shows('@@');
  window.type('Escape', 'Escape');
  await window.shows('critic rounds');
  window.resize(60, 20);
  const narrow = await window.shows('a: Approve');
  withinWidth(narrow, 60);
  window.resize(200, 50);
  await window.shows('a: Approve head');

  window.type('a');
  await window.shows(/approv/i);
  await world.state(issue, 'merged');
  window.type('1');
  await window.shows('✓ merged');
  window.type('4');
  await window.shows('merged');
  window.type('?');
  await window.shows('next and previous row');
  window.type('q');
  const left = await window.shows('LEFT WITH 0');
  expect(left).toContain('BEFORE');
  expect(left).not.toContain('next and previous row');
  runner.send('SIGTERM');
  await world.finished(runner);
});

test('what ends a task is asked once more; the loop is paused and resumed', async ({ world }) => {
  world.settings({ critic: { enabled: false } });
  const issue = await world.issue({ title: 'Write the file' });
  await world.settle(3);
  const window = open(world, { columns: 100, rows: 24 });
  await window.shows('needs_approval');
  window.type('x');
  await window.shows('Cancel?');
  window.type('n');
  await window.shows('x: Cancel');
  expect(await world.task(issue)).toMatchObject({ state: 'awaiting_critic' });
  window.type('P');
  await world.until('the loop to be paused', async () => (await world.status()).paused);
  await window.shows(/paused/i);
  window.type('P');
  await world.until('the loop to go on', async () => (await world.status()).paused === null);
  window.type('x', 'y');
  await world.settle();
  expect(await world.task(issue)).toMatchObject({ state: 'abandoned', reason: 'cancelled' });
  await window.shows('✗ cancelled');
});

test('a plan is loaded from a file with a mode, then edited in the editor and approved', async ({
  world,
}) => {
  const file = planFile(world, planText());
  world.env.EDITOR = 'sed -i s/counted/weighed/';
  const window = open(world, { columns: 110, rows: 30 });
  window.type('3');
  await window.shows('l: Load');
  window.type('l');
  await window.shows('plan file');
  window.write(file);
  window.type('Down', 'Right');
  await window.shows('[session]');
  window.type('Enter');
  await window.shows('loop:');
  const [loop] = await world.json<{ name: string; mode: string }[]>('loop', 'status');
  expect(loop).toMatchObject({ mode: 'session' });
  window.type('Enter');
  await window.shows('Started as');
  window.type('e');
  await window.shows('is weighed');
  const [plan] = await world.json<{ status: string }[]>('plan', 'list');
  expect(plan).toMatchObject({ status: 'draft' });
  window.type('a');
  await window.shows(/approved since/);
});

test('without unicode, without colour and without a terminal', async ({ world }) => {
  world.env.LANG = 'C';
  world.env.LC_ALL = 'C';
  await world.issue({ title: 'Añadir ✅' });
  await world.settle();
  const window = open(world, { columns: 80, rows: 24 });
  const screen = await window.shows('+ merged');
  expect(screen).toMatch(/^[\n\x20-\x7e]*$/);
  const piped = world.start(PROGRAM, 'watch', '--json');
  await world.until('the first snapshot', () => piped.said().includes('"tasks"'));
  piped.send('SIGTERM');
  await piped.ended;
});
