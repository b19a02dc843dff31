/** The script of a scripted agent: what it does in which turn. Written by people, so its errors name the place. */
import { readFile } from 'node:fs/promises';
import { parse } from 'yaml';
import { z } from 'zod';
import { ROLES } from '../core/role.ts';
import { UserError } from '../errors.ts';

const path = z
  .string()
  .min(1)
  .refine(
    (value) => !value.startsWith('/') && !value.split('/').includes('..'),
    'must be a path inside the workspace',
  );
const files = z.record(path, z.string());
const tokens = z.number().int().nonnegative().optional();
const usage = z.strictObject({
  input: tokens,
  output: tokens,
  cacheRead: tokens,
  cacheWrite: tokens,
  reasoning: tokens,
  costUsd: z.number().nonnegative().optional(),
});

/** Each step has exactly one of these. */
const steps = {
  write: files,
  append: files,
  delete: z.union([path, z.array(path)]),
  shell: z.string().min(1),
  commit: z.string().min(1),
  say: z.string(),
  answer: z.unknown(),
  usage,
  usageNow: usage,
  sleepMs: z.number().int().nonnegative(),
  hang: z.literal(true),
  flood: z.number().int().positive(),
  fail: z.strictObject({ exit: z.number().int().min(1).max(255).default(1), message: z.string() }),
  spawnDetached: z.string().min(1),
  expectPrompt: z.strictObject({
    contains: z.array(z.string()).default([]),
    excludes: z.array(z.string()).default([]),
  }),
};

const step = z
  .strictObject(steps)
  .partial()
  .refine((value) => Object.keys(value).length === 1, 'a step does exactly one thing');

const rule = z.strictObject({
  when: z
    .strictObject({
      issue: z.number().int().positive(),
      title: z.string().min(1),
      role: z.enum(ROLES),
      turn: z.number().int().positive(),
      round: z.number().int().positive(),
    })
    .partial()
    .default({}),
  steps: z.array(step),
});

const script = z.strictObject({ rules: z.array(rule).default([]), default: z.array(step).optional() });

export type Step = z.infer<typeof step>;
export type Rule = z.infer<typeof rule>;
export type Script = z.infer<typeof script>;

/** YAML, and so JSON too. */
export async function readScript(file: string): Promise<Script> {
  const text = await readFile(file, 'utf8').catch((error: Error) => {
    throw new UserError(`the agent's script ${file} can't be read: ${error.message}`, 'Check agent.script.');
  });
  return parseScript(text, file);
}

export function parseScript(text: string, file: string): Script {
  const parsed = script.safeParse(yamlIn(text, file));
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map((issue) => {
    const cause = issue.code === 'invalid_key' ? issue.issues[0] : issue;
    return `${placeOf(issue.path)}: ${cause?.message}`;
  });
  throw new UserError(
    `the agent's script ${file} is invalid: ${problems.join('; ')}`,
    'See docs/scripted-agent.md.',
  );
}

function yamlIn(text: string, file: string): unknown {
  try {
    return parse(text);
  } catch (error) {
    throw new UserError(`the agent's script ${file} is not YAML: ${(error as Error).message}`);
  }
}

/** People count from one. */
function placeOf(at: readonly PropertyKey[]): string {
  const [section, index, ...rest] = at;
  if (section === 'rules' && typeof index === 'number')
    return [`rule ${index + 1}`, ...inner(rest)].join(', ');
  return inner(at).join(', ') || 'the whole';
}

function inner(at: readonly PropertyKey[]): string[] {
  const words: string[] = [];
  for (const key of at) {
    if (typeof key === 'number') words.push(`step ${key + 1}`);
    else if (key !== 'steps') words.push(String(key));
  }
  return words;
}
