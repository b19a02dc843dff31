import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openedRepository } from '../../test/support/opened-repository.ts';
import { perform } from '../operations.ts';

const here = openedRepository();

test('shows what the prompt will have of the issue, as a turn gets it', async () => {
  const template =
    'State: {{ issue.state }}, {% for label in issue.labels %}{{ label }} {% endfor %}{{ issue.created_at }}';
  writeFileSync(
    join(here.root, 'WORKFLOW.md'),
    `---\nagent: { command: "true" }\ngate: none\n---\n${template}\n`,
  );
  await here.reopen();
  const issue = await here.ready('One');
  const { prompt } = await perform(here.context, 'brief', { issue });
  expect(prompt).toMatch(/^State: open, loop:ready \d{4}-\d\d-\d\dT/);
});
