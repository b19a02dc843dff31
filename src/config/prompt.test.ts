import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { PromptKind } from '../core/event.ts';
import { SAMPLE_CONTEXTS } from '../core/words/prompt-context.ts';
import { DEFAULT_PROMPTS } from '../core/words/prompts.ts';
import { UserError } from '../errors.ts';
import { checkPrompt, renderPrompt } from './prompt.ts';

const context = { issue: { number: 7, title: 'A title', nothing: null }, list: ['a', 'b'] };

describe('renderPrompt', () => {
  test('fills in the values', () => {
    expect(renderPrompt('task', '#{{ issue.number }} {{ list | join: "+" }}', context)).toBe('#7 a+b');
  });

  test.each([
    [
      'variable',
      'a\n\n{{ isue.title }}',
      'The revise prompt can\'t be rendered, line 3: unknown variable "isue".',
      'issue',
    ],
    [
      'property',
      'a\n{{ issue.titel }}',
      'The revise prompt can\'t be rendered, line 2: unknown variable "issue.titel".',
      'issue.title',
    ],
    [
      'filter',
      '{{ list | joyn }}',
      'The revise prompt can\'t be rendered, line 1: unknown filter "joyn".',
      'join',
    ],
  ])(
    'refuses an unknown %s with its name, its line and the nearest known one (dispatch 5)',
    (_what, template, message, meant) => {
      const render = () => renderPrompt('revise', template, context);
      expect(render).toThrow(UserError);
      expect(render).toThrow(message);
      expect(render).toThrow(expect.objectContaining({ hint: `Did you mean "${meant}"?` }));
    },
  );

  test('refuses a variable like no other with the list of those it may name (dispatch 5)', () => {
    const hint = 'It may name: issue.number, issue.title, issue.nothing, list.';
    expect(() => renderPrompt('task', '{{ qqqqqqqqqqq }}', context)).toThrow(
      expect.objectContaining({ hint }),
    );
  });

  test('never reads what values inherit', () => {
    expect(() => renderPrompt('task', '{{ issue.constructor }}', context)).toThrow('unknown variable');
  });

  test('treats template marks inside a value as text', () => {
    const hostile = { issue: { title: '{{ secret }}{% include "x" %}' }, secret: 's' };
    expect(renderPrompt('task', '{{ issue.title }}', hostile)).toBe('{{ secret }}{% include "x" %}');
  });

  test.each(['include', 'render', 'layout'])('knows no {%% %s %%}: a prompt reads no files', (tag) => {
    const folder = mkdtempSync(join(tmpdir(), 'prompt-'));
    const file = join(folder, 'secret.txt');
    writeFileSync(file, 'secret');
    expect(() => renderPrompt('task', `{% ${tag} "${file}" %}`, context)).toThrow(`tag "${tag}" not found`);
    rmSync(folder, { recursive: true });
  });

  test('ends a template that would fill the memory', () => {
    expect(() => renderPrompt('task', '{% for i in (1..1000000000) %}x{% endfor %}', context)).toThrow(
      'limit exceeded',
    );
  });

  test('refuses a prompt that is far too long', () => {
    const long = { text: 'x'.repeat(1_000_000) };
    expect(() => renderPrompt('task', '{{ text }}'.repeat(5), long)).toThrow(
      'longer than 4000000 characters',
    );
  });
});

describe('checkPrompt', () => {
  test('finds an unknown variable in a branch that the sample does not take (dispatch 5)', () => {
    const template = '{% if issue.number == 8 %}\n{{ issue.titel }}\n{% endif %}';
    expect(checkPrompt(template, context)).toMatchObject([
      { message: 'unknown variable "issue.titel"', line: 2 },
    ]);
  });

  test('finds an unknown variable in a condition and inside a loop (dispatch 5)', () => {
    expect(checkPrompt('{% if nope %}x{% endif %}', context)).toMatchObject([
      { message: 'unknown variable "nope"' },
    ]);
    expect(checkPrompt('{% for i in list %}\n{{ nope }}{% endfor %}', context)).toMatchObject([{ line: 2 }]);
  });

  test('finds every unknown variable at once, by line', () => {
    expect(
      checkPrompt('{{ b.c }}\n{{ issue.titel }}\n{% if nope %}\n{{ b.c }}{% endif %}', context),
    ).toMatchObject([
      { message: 'unknown variable "b.c"', line: 1 },
      { message: 'unknown variable "issue.titel"', line: 2 },
      { message: 'unknown variable "nope"', line: 3 },
      { message: 'unknown variable "b.c"', line: 4 },
    ]);
  });

  test.each([
    ['{{ issue.title', 1],
    ['a\n{% if issue.title %}', 2],
    ['a\n\n{% bogus %}', 3],
    ['{{ issue.title | bogus }}', 1],
  ])('names the line of what cannot be parsed: %j', (template, line) => {
    expect(checkPrompt(template, context)).toMatchObject([{ line }]);
  });

  test('accepts what a template makes itself, lists, and values that are null', () => {
    const template =
      '{% assign a = list | first %}{{ a }}{{ list[0] }}{{ list.size }}{{ issue.nothing.deeper }}{% for i in list %}{{ i }}{{ forloop.index }}{% endfor %}';
    expect(checkPrompt(template, context)).toEqual([]);
  });

  test.each(Object.keys(DEFAULT_PROMPTS) as PromptKind[])('accepts the default %s prompt', (kind) => {
    expect(checkPrompt(DEFAULT_PROMPTS[kind], SAMPLE_CONTEXTS[kind])).toEqual([]);
  });
});
