/** schema/json/v1: what `--json` and the HTTP API answer, held to the types of the code. */
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { OPERATIONS } from '../src/operations.ts';
import { SCHEMAS, schemaProblems } from './support/json-schemas.ts';
import { resultSchemas } from './support/result-schemas.ts';

const made: Record<string, string> = {};
beforeAll(() => {
  for (const [name, schema] of Object.entries(resultSchemas()))
    made[`${name}.json`] = `${JSON.stringify(schema, null, 2)}\n`;
  if (!process.env.UPDATE_DOCS) return;
  mkdirSync(SCHEMAS, { recursive: true });
  for (const name of readdirSync(SCHEMAS)) if (!(name in made)) rmSync(join(SCHEMAS, name));
  for (const [name, text] of Object.entries(made)) writeFileSync(join(SCHEMAS, name), text);
});

describe('schema/json/v1', () => {
  test('is what the types of the code say (UPDATE_DOCS=1 rewrites it)', () => {
    expect(readdirSync(SCHEMAS).sort()).toEqual(Object.keys(made).sort());
    const stale = Object.entries(made).filter(
      ([name, text]) => readFileSync(join(SCHEMAS, name), 'utf8') !== text,
    );
    expect(stale.map(([name]) => name)).toEqual([]);
  });

  test('has a schema for every operation', () => {
    for (const name of Object.keys(OPERATIONS)) expect(Object.keys(made)).toContain(`${name}.json`);
  });

  test('knows what is missing, of another type, or unknown', () => {
    const right = { task: 'a', issue: 1, asked: 'cancel', runnerAlive: false };
    expect(schemaProblems('task.cancel', right)).toEqual([]);
    expect(schemaProblems('task.cancel', { ...right, issue: null })).toEqual([]);
    for (const wrong of [
      { ...right, task: undefined },
      { ...right, issue: '1' },
      { ...right, more: 1 },
    ])
      expect(schemaProblems('task.cancel', wrong)).not.toEqual([]);
    expect(schemaProblems('task.cancel', { ...right, asked: 'something' })).not.toEqual([]);
  });
});
