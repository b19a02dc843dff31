/** The whole loop: what a resume releases and accepts. */
import { describe, expect, test } from 'vitest';
import { openedRepository } from '../../test/support/opened-repository.ts';
import { event, type HoldReason } from '../core/event.ts';
import { trunkChanged } from '../core/loop/loop-hold.ts';
import { UsageError } from '../errors.ts';
import { openContext } from '../main.ts';
import { perform } from '../operations.ts';

const here = openedRepository();

describe('resume --all', () => {
  test('releases what a resume can, says what stays, and lets the loop go on', async () => {
    for (const title of ['Paused', 'Broken gate', 'Edited', 'Going on']) await here.ready(title);
    const held = (reason: HoldReason) => event('hold_set', { reason, detail: 'so it is', until: null });
    await here.commit(await here.taskOf(1, 'aaaa0001'), held('operator_pause'));
    await here.commit(await here.taskOf(2, 'aaaa0002'), held('gate_could_not_run'));
    await here.commit(await here.taskOf(3, 'aaaa0003'), held('body_edited'));
    await here.taskOf(4, 'aaaa0004');
    await perform(here.context, 'pause', { task: '4' });
    await perform(here.context, 'pause');
    expect(await perform(here.context, 'resume', { all: true })).toMatchObject({
      paused: null,
      released: [
        { issue: 1, reason: 'operator_pause' },
        { issue: 2, reason: 'gate_could_not_run' },
        { issue: 4, reason: 'operator_pause' },
      ],
      left: [{ issue: 3, text: expect.stringContaining('forge-loop issue ready 3') }],
    });
    const store = await here.context.writing();
    const asked = async (id: string) => (await store.requests(id)).map(({ kind }) => kind);
    expect(await asked('aaaa0002')).toEqual(['resume']);
    expect(await asked('aaaa0003')).toEqual([]);
    expect(await asked('aaaa0004')).toEqual(['pause', 'resume']);
    await expect(perform(here.context, 'resume', { all: true, task: '1' })).rejects.toThrow(UsageError);
  });
});

describe('trunk', () => {
  const trunk = async () => (await (await openContext(here.root)).forge()).trunk();

  test('is the remembered branch, whatever is checked out or guessed, and its loss is said in words', async () => {
    here.git('switch', '-q', '-c', 'work');
    await (await here.context.writing()).updateLoop({ trunk: 'work' }, [], 1);
    here.git('switch', '-q', 'main');
    expect(await trunk()).toMatchObject({ branch: 'work' });
    here.git('branch', '-m', 'work', 'renamed');
    await expect(trunk()).rejects.toThrow('The branch work, on which work landed so far, is gone');
  });

  test('another one is accepted with resume', async () => {
    const store = await here.context.writing();
    await store.updateLoop({ trunk: 'main' }, [event('loop_held', trunkChanged('main', 'develop'))], 1);
    const { loop } = await perform(here.context, 'why');
    expect(loop.join()).toMatch(
      /tracker.trunk changed from main to develop.*`forge-loop resume` accepts the new one/,
    );
    const resumed = await perform(here.context, 'resume');
    expect(resumed).toMatchObject({ ended: ['trunk_changed'], trunk: { was: 'main', is: 'develop' } });
    expect(await store.loop()).toMatchObject({ trunk: 'develop', holds: [] });
  });
});
