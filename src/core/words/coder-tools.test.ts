/** What the coder is answered when it talks to the loop, and what is noted of it. */
import { describe, expect, test } from 'vitest';
import { awaiting, changes, judgedBy } from '../../../test/support/play.ts';
import { answerCall, CODER_TOOLS, inputSchemaOf, NOBODY } from './coder-tools.ts';

const play = awaiting().critic(changes('the dialog has no role'));
const ask = (name: string, input: unknown, calls = 0) =>
  answerCall(play.task, 3, play.findings, { name, input, calls, most: 20 });

describe('a call', () => {
  test.each([
    ['report_progress', { message: 'half way' }, 'coder_reported', { turn: 3, message: 'half way' }],
    [
      'ask_operator',
      { question: 'Red or blue?' },
      'coder_asked',
      { turn: 3, question: 'Red or blue?', answer: NOBODY },
    ],
    ['finish', { summary: 'done' }, 'coder_finished', { turn: 3, summary: 'done', tests: '', open: [] }],
  ])('of %s is noted as it was said, and answered at once', (name, input, type, data) => {
    const { answer, events } = ask(name, input);
    expect(answer).toMatchObject({ isError: false, text: expect.stringMatching(/./) });
    expect(events).toEqual([{ type, data }]);
  });

  test('of list_findings tells criteria and what is open, and notes nothing', () => {
    expect(ask('list_findings', {})).toMatchObject({ answer: { isError: false }, events: [] });
    expect(ask('list_findings', undefined).answer.text).toContain('the dialog has no role');
    const { task } = judgedBy('- [ ] answers 42');
    const call = { name: 'list_findings', input: {}, calls: 0, most: 20 };
    const { text } = answerCall(task, 1, [], call).answer;
    expect(text).toContain('answers 42');
    expect(text).toContain('No finding is open.');
  });

  test('of a tool that is not there fails at once, and is noted as such', () => {
    const why = 'there is no tool toString';
    expect(ask('toString', {})).toEqual({
      answer: { text: why, isError: true },
      events: [
        {
          type: 'tool_refused',
          data: { role: 'coder', turn: 3, code: 'tool_missing', tool: 'toString', detail: '', why },
        },
      ],
    });
  });

  test.each([
    ['input that can’t be used', 'report_progress', { message: 7 }, 0],
    ['nothing to say', 'finish', { summary: '' }, 0],
    ['the twenty-first of its kind', 'report_progress', { message: 'again' }, 20],
  ])('with %s is an error and noted nowhere', (_, name, input, calls) => {
    expect(ask(name, input, calls)).toMatchObject({ answer: { isError: true }, events: [] });
  });
});

test('every tool has a schema that needs no dialect', () => {
  for (const tool of CODER_TOOLS) {
    expect(inputSchemaOf(tool)).toMatchObject({ type: 'object' });
    expect(inputSchemaOf(tool)).not.toHaveProperty('$schema');
  }
});
