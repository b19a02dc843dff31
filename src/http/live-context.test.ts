import { expect, test } from 'vitest';
import { openedRepository } from '../../test/support/opened-repository.ts';
import { openContext } from '../main.ts';
import { perform } from '../operations.ts';
import { liveContext } from './live-context.ts';

const own = openedRepository();

test('stays open for whoever began to use it before it was closed', async () => {
  await own.taskOf(await own.ready('Add greet'), 'aaaa1111');
  const live = await liveContext(() => openContext(own.root));
  const tasks = () => live.use((context) => perform(context, 'task.list'));
  const opened = await tasks();
  const inUse = tasks();
  await live.close();
  expect(await inUse).toEqual(opened);
});

test('is opened anew when the settings changed', async () => {
  const live = await liveContext(() => openContext(own.root));
  own.configure('agent: { command: "true", max_turns: 7 }\ngate: none');
  const { keys } = await live.use((context) => perform(context, 'config'));
  expect(keys.find(({ key }) => key === 'agent.max_turns')).toMatchObject({ value: 7 });
  await live.close();
});
