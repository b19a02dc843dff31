/**
 * WORKFLOW.md becomes settings. What can't be used is an error that names file, line and key; what can be left out
 * safely is a warning. Nothing is half loaded: a caller has all settings or an error.
 */
import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, relative, resolve } from 'node:path';
import type { z } from 'zod';
import type { PromptKind } from '../core/event.ts';
import { unpricedRoles } from '../core/money/prices.ts';
import { type AgentPolicy, HELD_KEYS, type Policy } from '../core/policy.ts';
import { ROLES, rolesInUse } from '../core/role.ts';
import { SAMPLE_CONTEXTS } from '../core/words/prompt-context.ts';
import { DEFAULT_PROMPTS } from '../core/words/prompts.ts';
import { ConfigError, type ConfigProblem } from '../errors.ts';
import { BadFrontMatter, type FrontMatter, type Path, readFrontMatter } from '../front-matter.ts';
import { channelSecrets, type Env, expandEnvironment, isVariable } from './environment.ts';
import { choices, configKeys, keysOf, schemaAt, typeText, valuesOf } from './keys.ts';
import { isMap, valueAt } from './map.ts';
import { nearest } from './nearest.ts';
import { grantParts, toPolicy } from './policy.ts';
import { configError, frontMatterError, problemText } from './problems.ts';
import { checkPrompt } from './prompt.ts';
import { LIMITED_STATES, type Workflow, workflowSchema } from './schema.ts';
import { readSymphonyNames, symphonyHint } from './symphony.ts';
import { unusedKeys } from './unused.ts';
import type { Warn } from './warn.ts';

export interface Warning {
  key: string;
  line: number;
  message: string;
  /** What to do about it. */
  hint: string | null;
}

export interface Settings {
  /** Absolute. */
  path: string;
  policy: Policy;
  tracker: Workflow['tracker'];
  workspace: Workflow['workspace'];
  prompts: Record<PromptKind, string>;
  /** The front matter with defaults, paths and variables resolved. */
  workflow: Workflow;
  warnings: Warning[];
  /** For each key that has a value: whether the file said it. `body` is the task prompt. */
  origins: Record<string, 'default' | 'file'>;
}

/** `root` is the repository's: the file itself is protected there, whatever it is called. */
export function loadSettings(path: string, env: Env, root = dirname(resolve(path))): Settings {
  const file = resolve(path);
  const matter = frontMatterOf(file);
  const problems: ConfigProblem[] = [];
  const warn: Warn = (at, text, hint) => {
    problems.push({ level: 'warning', line: matter.lineOf(at), key: at.join('.'), text, hint });
  };

  const given = withoutEmpty(matter.values) as Record<string, unknown>;
  const isSymphonys = readSymphonyNames(given, warn);
  readLimits(given, warn);
  warnUnknownKeys(given, workflowSchema, [], warn);
  const written = writtenSecrets(given, matter);
  expandEnvironment(given, { env, home: env.HOME || homedir(), folder: dirname(file), warn });
  const parsed = workflowSchema.safeParse(given);
  for (const issue of parsed.error?.issues ?? []) problems.push(problemOf(issue, given, matter));
  problems.push(...written, ...promptProblems(given.prompts, matter));
  if (problems.some(({ level }) => level === 'error'))
    throw configError(file, parsed.success ? 'template' : 'invalid', problems);
  const workflow = parsed.data as Workflow;
  const policy = toPolicy(workflow, isSymphonys);
  for (const { path: at, text, fix } of unusedKeys(workflow, given)) warn(at, text, fix);
  const unsound = [
    ...blindBudgets(policy, matter),
    ...openSecrets(workflow, matter),
    ...ungrantable(workflow, policy, matter),
    ...openPrograms(policy, matter),
  ];
  if (unsound.length > 0) throw configError(file, 'invalid', [...problems, ...unsound]);
  return {
    path: file,
    policy: { ...policy, protectedPaths: [...new Set([...policy.protectedPaths, relative(root, file)])] },
    tracker: workflow.tracker,
    workspace: workflow.workspace,
    prompts: promptsOf(workflow, matter),
    workflow,
    warnings: problems.map((one) => ({
      key: one.key ?? '',
      line: one.line,
      message: problemText(file, one),
      hint: one.hint,
    })),
    // Only `config` asks for it, and it takes longer than reading the settings.
    get origins() {
      return originsOf(given, matter.body);
    },
  };
}

function frontMatterOf(file: string): FrontMatter {
  const source = readSource(file);
  try {
    return readFrontMatter(source);
  } catch (error) {
    throw error instanceof BadFrontMatter ? frontMatterError(file, error) : error;
  }
}

function readSource(file: string): string {
  let source: string;
  try {
    source = readFileSync(file, 'utf8');
  } catch (cause) {
    const missing = (cause as NodeJS.ErrnoException).code === 'ENOENT';
    const message = missing
      ? `${file} does not exist.`
      : `${file} can't be read: ${(cause as Error).message}.`;
    const hint = missing ? 'Run "forge-loop init" to write one, or name another with --config.' : null;
    throw new ConfigError('missing', message, { file }, hint, { cause });
  }
  if (source.trim() !== '') return source;
  // An editor that truncates before it writes must not switch everything to the defaults for a moment.
  throw new ConfigError(
    'missing',
    `${file} is empty.`,
    { file },
    'Write at least the task prompt, or run "forge-loop init".',
  );
}

/** A key without a value (`hooks:` with everything below it commented out) counts as not given. */
function withoutEmpty(value: unknown): unknown {
  if (!isMap(value)) return value;
  const kept = Object.entries(value).filter(([, below]) => below !== null);
  return Object.fromEntries(kept.map(([name, below]) => [name, withoutEmpty(below)]));
}

function warnUnknownKeys(value: unknown, schema: z.core.$ZodType, path: readonly string[], warn: Warn): void {
  if (!isMap(value)) return;
  const each = valuesOf(schema);
  if (each)
    for (const [name, below] of Object.entries(value)) warnUnknownKeys(below, each, [...path, name], warn);
  const known = keysOf(schema);
  if (known === null) return;
  for (const [name, below] of Object.entries(value)) {
    const at = [...path, name];
    const schemaBelow = Object.hasOwn(known, name) ? known[name] : undefined;
    if (schemaBelow) warnUnknownKeys(below, schemaBelow, at, warn);
    else {
      const meant = likelyKey(name, path, Object.keys(known));
      const question = meant === null ? '' : `; did you mean "${meant}"?`;
      const hint = meant === null ? 'Remove it.' : `Rename it to ${meant}, or remove it.`;
      warn(at, `unknown key "${at.join('.')}" is ignored${question}`, hint);
    }
  }
}

/** A sibling spelt alike, else the same name elsewhere. */
function likelyKey(name: string, path: readonly string[], siblings: readonly string[]): string | null {
  const sibling = nearest(name, siblings);
  if (sibling) return [...path, sibling].join('.');
  return configKeys().find(({ key }) => key.endsWith(`.${name}`) && !key.startsWith('roles.'))?.key ?? null;
}

/** One wrong limit must not stop the loop: without it the task still counts against `max_concurrent`. */
function readLimits(given: Record<string, unknown>, warn: Warn): void {
  const key = 'max_concurrent_by_state';
  const agent = given.agent;
  if (!isMap(agent) || !(key in agent)) return;
  const limits = agent[key];
  if (!isMap(limits)) {
    delete agent[key];
    const text = `agent.${key} is ignored: expected a map of limits, found ${found(limits)}`;
    warn(['agent', key], text, 'Write for example `running: 2` below it.');
    return;
  }
  const read: Record<string, unknown> = {};
  for (const [name, limit] of Object.entries(limits)) {
    const state = LIMITED_STATES.find((one) => one === name.trim().toLowerCase());
    const at = ['agent', key, name];
    if (!state)
      warn(
        at,
        `unknown key "${at.join('.')}" is ignored; the states are ${LIMITED_STATES.join(', ')}`,
        'Remove it.',
      );
    else if (Number.isInteger(limit) && (limit as number) >= 1) read[state] = limit;
    else {
      const text = `${at.join('.')} is ignored: expected whole number ≥ 1, found ${found(limit)}`;
      warn(at, text, 'Write a whole number, or remove it.');
    }
  }
  agent[key] = read;
}

function problemOf(issue: z.core.$ZodIssue, given: object, matter: FrontMatter): ConfigProblem {
  const { path, said } = deepest(issue);
  const key = path.join('.');
  const schema = schemaAt(path);
  const expected = said ?? `expected ${schema ? typeText(schema) : 'another value'}`;
  const value = valueAt(given, path);
  // What says where a channel is may be a secret.
  const isSecret = /^notify\.channels\.[^.]+\.(url|secret|token)$/.test(key);
  const shown = isSecret ? `a ${typeof value}` : found(value);
  const meant = typeof value === 'string' && schema ? nearest(value, choices(schema)) : null;
  return {
    level: 'error',
    key,
    line: matter.lineOf(path),
    text: `${key}: ${expected}, found ${shown}`,
    hint: meant ? `Did you mean "${meant}"?` : symphonyHint(key, value),
  };
}

/** Of a choice between forms, the one that came furthest says best what is wrong. */
function deepest(issue: z.core.$ZodIssue): { path: (string | number)[]; said: string | null } {
  const path = issue.path as (string | number)[];
  if (issue.code === 'invalid_union') {
    const inner = issue.errors.flat().sort((a, b) => b.path.length - a.path.length)[0];
    if (inner && inner.path.length > 0) {
      const below = deepest(inner);
      return { path: [...path, ...below.path], said: below.said };
    }
  }
  if (issue.code === 'unrecognized_keys')
    return { path, said: `there is no ${issue.keys.map((key) => `"${key}"`).join(', ')} in it` };
  if (issue.code === 'custom' || issue.code === 'invalid_format') return { path, said: issue.message };
  return { path, said: issue.code === 'too_big' ? `expected at most ${issue.maximum}` : null };
}

function found(value: unknown): string {
  if (Array.isArray(value)) return 'a list';
  if (isMap(value)) return 'a map';
  const text = JSON.stringify(value) ?? 'nothing';
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}

/** Dollars that nobody can count are no limit; where nothing else limits what is spent, that is said before it is. */
function blindBudgets(policy: Policy, matter: FrontMatter): ConfigProblem[] {
  const roles = unpricedRoles(policy);
  if (roles.length === 0) return [];
  const { day, loop, ...task } = policy.budget;
  const names = roles.map((role) => `the ${role}'s ${modelText(policy.agents[role])}`).join(', ');
  return Object.entries({ budget: task, 'budget.day': day, 'budget.loop': loop }).flatMap(
    ([key, { usd, tokens }]): ConfigProblem[] =>
      usd === null || tokens !== null
        ? []
        : [
            {
              level: 'error',
              key: `${key}.usd`,
              line: matter.lineOf(`${key}.usd`.split('.')),
              text: `${key}.usd: can't be kept, since the price of ${names} is not known`,
              hint: `Set ${key}.tokens too, or give the price of the model under \`prices\`.`,
            },
          ],
  );
}

/** Where a channel is, and what it is signed with, must not stand in a file that is committed. Its text is not shown. */
function writtenSecrets(given: object, matter: FrontMatter): ConfigProblem[] {
  return channelSecrets(given).flatMap((path): ConfigProblem[] => {
    if (isVariable(valueAt(given, path))) return [];
    const key = path.join('.');
    return [
      {
        level: 'error',
        key,
        line: matter.lineOf(path),
        text: `${key}: must be a variable`,
        hint: 'Write `$NAME`, and give the value in the environment of the loop.',
      },
    ];
  });
}

/** What one key keeps back another must not hand out. */
function openSecrets({ env, secrets }: Workflow, matter: FrontMatter): ConfigProblem[] {
  const given = Object.entries({
    env,
    'env.roles': env.roles,
    'env.gates': env.gates,
    'env.hooks': env.hooks,
  });
  return Object.entries(secrets).flatMap(([name, secret]) =>
    given.flatMap(([key, { pass, set }]): ConfigProblem[] => {
      const names = [name, ...(secret.env ? [secret.env] : [])];
      const [said] = [
        ...pass.filter((one) => names.includes(one)).map((one) => [`${key}.pass`, one]),
        ...Object.keys(set)
          .filter((one) => one === name)
          .map((one) => [`${key}.set`, one]),
      ];
      if (!said) return [];
      const [where = '', variable] = said;
      return [
        {
          level: 'error',
          key: where,
          line: matter.lineOf(where.split('.')),
          text: `${where}: gives ${variable} to everybody it is for, and secrets.${name} keeps it from them`,
          hint: `Take ${variable} out of ${where}.`,
        },
      ];
    }),
  );
}

/** Servers that are granted, and that nobody described or the role's agent can't be given. */
function ungrantable({ mcp, roles }: Workflow, policy: Policy, matter: FrontMatter): ConfigProblem[] {
  return ROLES.flatMap((role) => {
    const grants = roles[role]?.access.mcp ?? [];
    const at = ['roles', role, 'access', 'mcp'];
    const key = at.join('.');
    const problem = (line: Path, text: string, hint: string): ConfigProblem => ({
      level: 'error',
      key,
      line: matter.lineOf(line),
      text: `${key}: ${text}`,
      hint,
    });
    const { kind, preset } = policy.agents[role];
    if (grants.length > 0 && kind === 'acp' && preset === 'gemini')
      return [
        problem(
          at,
          "gemini connects to no server in a folder that it does not trust, and a branch's is none",
          'Give this role another agent, or no server.',
        ),
      ];
    return grants.flatMap((grant, index) => {
      const { name, tool } = grantParts(grant);
      const line = [...at, index];
      if (!Object.hasOwn(mcp, name))
        return [
          problem(line, `there is no server "${name}" under \`mcp\``, meantServer(name, Object.keys(mcp))),
        ];
      return tool === '' ? [problem(line, `"${grant}" names no tool`, `Say "${name}" for all of them.`)] : [];
    });
  });
}

/** Where all has to be confined, whoever is on the network of this machine was put there by a person's word. */
function openPrograms(policy: Policy, matter: FrontMatter): ConfigProblem[] {
  if (policy.sandbox.kind !== 'required') return [];
  const [first, ...others] = rolesInUse(policy).filter((role) => policy.agents[role].isProviderUnknown);
  if (first === undefined) return [];
  const key = `roles.${first}.access.network`;
  const also = others.length > 0 ? ` (and of the ${others.join(', the ')})` : '';
  return [
    {
      level: 'error',
      key,
      line: matter.lineOf(key.split('.')),
      text: `${key}${also}: must be set, since \`sandbox: required\` and nobody knows where its program finds its model`,
      hint: `Name a key of its provider in \`env.roles.pass\` (${HELD_KEYS.join(', ')}), which the gateway then holds; or list the hosts that it needs; or say \`host\` if it may go wherever this machine can.`,
    },
  ];
}

function meantServer(name: string, known: readonly string[]): string {
  const meant = nearest(name, known);
  if (meant) return `Did you mean "${meant}"?`;
  return known.length > 0 ? `There is ${known.join(', ')}.` : 'There is none: describe it there.';
}

const modelText = ({ kind, preset, model }: AgentPolicy): string =>
  `${kind === 'acp' ? (preset ?? kind) : kind}${model === null ? '' : ` with ${model}`}`;

type Written = [PromptKind, string][];

/** As the file has them, whether or not the rest of it can be used. */
function writtenPrompts(prompts: unknown, body: string): Written {
  const texts = { task: body, ...(isMap(prompts) ? prompts : {}) };
  return Object.entries(texts).filter(
    (one): one is Written[number] =>
      Object.hasOwn(DEFAULT_PROMPTS, one[0]) && typeof one[1] === 'string' && one[1].trim() !== '',
  );
}

function promptsOf(workflow: Workflow, matter: FrontMatter): Record<PromptKind, string> {
  return { ...DEFAULT_PROMPTS, ...Object.fromEntries(writtenPrompts(workflow.prompts, matter.body)) };
}

function promptProblems(prompts: unknown, matter: FrontMatter): ConfigProblem[] {
  return writtenPrompts(prompts, matter.body).flatMap(([kind, template]) => {
    // Most files have the task prompt that `init` wrote: it is known to be whole.
    if (template.trim() === DEFAULT_PROMPTS[kind].trim()) return [];
    return checkPrompt(template, SAMPLE_CONTEXTS[kind]).map(({ line, message, hint }): ConfigProblem => {
      const at = line ?? 1;
      return {
        level: 'error',
        key: kind === 'task' ? 'body' : `prompts.${kind}`,
        line: kind === 'task' ? matter.bodyLine + at - 1 : matter.lineOfText(['prompts', kind], at),
        text: `the ${kind} prompt is broken: ${message}`,
        hint,
      };
    });
  });
}

function originsOf(given: object, body: string): Settings['origins'] {
  const origins: Settings['origins'] = { body: body === '' ? 'default' : 'file' };
  for (const { key } of configKeys()) {
    origins[key] = valueAt(given, key.split('.')) === undefined ? 'default' : 'file';
  }
  if ('gate' in given && !isMap(given.gate)) origins.gate = 'file';
  return origins;
}
