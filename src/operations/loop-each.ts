/** A list of features, as people write it: one loop for each, those that others wait for first. */
import { readFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { isNode, LineCounter, parseDocument, type YAMLError } from 'yaml';
import type { Context } from '../context.ts';
import {
  changeProblem,
  type Feature,
  featureProblem,
  groupOf,
  inOrder,
  startedBefore,
} from '../core/plan/each.ts';
import type { Plan } from '../core/plan/plan.ts';
import { contractOfPlan, planTasks } from '../core/plan/start.ts';
import type { Task } from '../core/task.ts';
import { oneLine } from '../core/words/fence.ts';
import { UserError, whyUnreadable } from '../errors.ts';
import { isRunnerAlive } from '../view.ts';
import { problemOf, z } from './input.ts';
import { type Beginning, begin, readPlan, refuseSandbox, starting } from './loops.ts';

const featureList = z
  .object({
    concurrency: z.number().int().positive().optional(),
    features: z
      .array(
        z
          .object({
            name: z.string().trim().min(1),
            plan: z.string().min(1).optional(),
            goal: z.string().trim().min(1).optional(),
            after: z.array(z.string().trim().min(1)).default([]),
          })
          .strict(),
      )
      .min(1),
  })
  .strict();

/** One loop for each feature of a list. Nothing is started before all of it was found to be sound. */
export async function startEach(
  context: Context,
  input: { file: string } & Beginning['options'],
): Promise<{
  loops: { name: string; task: string; already: boolean; after: readonly string[] }[];
  warnings: string[];
  runnerAlive: boolean;
}> {
  if (input.mode === 'here') throw new UserError('--mode here works with one loop only.', 'Leave it out.');
  const { most, features, warnings, refusal } = await readFeatures(input.file);
  await refuseSandbox(context, input);
  const ports = await context.ports();
  const { store } = ports;
  const loops = await starting(context, store, async (lease) => {
    const known = planTasks((await store.tasks()).map(({ task }) => task));
    const before = startedBefore(features, known);
    const changed = changeProblem(features, most, before, known);
    if (changed)
      throw refusal(changed, 'Leave it as it was, or end that loop first: `forge-loop loop cancel`.');
    const group = groupOf(before) ?? ports.newId().slice(0, 8);
    const tasks = new Map<string, Task>();
    for (const { name, after, plan, goal } of inOrder(features)) {
      const ids = after.map((other) => tasks.get(other)!.id);
      const options = { plan, goal, wanted: name, options: input, group: { id: group, most, after: ids } };
      const started = planTasks((await store.tasks()).map(({ task }) => task));
      tasks.set(name, before.get(name) ?? (await begin(context, store, lease, started, options)));
    }
    return inOrder(features).map(({ name, after }) => ({
      name: tasks.get(name)!.plan!.name,
      task: tasks.get(name)!.id,
      already: before.has(name),
      after: after.map((other) => tasks.get(other)!.plan!.name),
    }));
  });
  return { loops, warnings, runnerAlive: await isRunnerAlive(store, context) };
}

interface PlannedFeature extends Feature {
  plan: Plan | null;
  goal: string | null;
}

const NO_PLAN = { plan: null, warnings: [] };

async function readFeatures(file: string): Promise<{
  most: number | null;
  features: PlannedFeature[];
  warnings: string[];
  refusal(wrong: { at: number; problem: string }, advice?: string): UserError;
}> {
  const text = await textOf(file, file);
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines });
  const fail = (problem: string, line: number | null, advice = 'See docs/plans.md.'): UserError =>
    new UserError(`${file}${line === null ? '' : `:${line}`}: ${problem}`, advice);
  const [broken] = document.errors;
  if (broken) throw fail(saidBy(broken), broken.linePos?.[0].line ?? null);
  const parsed = featureList.safeParse(document.toJS());
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw fail(problemOf(issue!), lineAt(issue!.path));
  }
  const { concurrency = null, features } = parsed.data;
  const lineOf = (at: number): number | null => lineAt(['features', at]);
  const refusal = ({ at, problem }: { at: number; problem: string }, advice?: string) =>
    fail(problem, lineOf(at), advice);
  const planned = await Promise.all(
    features.map(async ({ name, after, plan: path, goal = null }, at) => {
      if (path === undefined && goal === null)
        throw fail(`"${name}" has neither a plan nor a goal`, lineOf(at));
      const { plan, warnings } = path === undefined ? NO_PLAN : await planAt(path, name, lineOf(at));
      return { name, after, goal, plan, warnings, contract: contractOfPlan({ plan, goal }).hash };
    }),
  );
  const wrong = featureProblem(planned);
  if (wrong) throw refusal(wrong);
  return {
    most: concurrency,
    features: planned,
    warnings: planned.flatMap((one) => one.warnings),
    refusal,
  };

  async function planAt(
    path: string,
    name: string,
    line: number | null,
  ): Promise<ReturnType<typeof readPlan>> {
    const written = await textOf(resolve(dirname(file), path), `${file}:${line}: the plan of "${name}"`);
    return readPlan({ text: written, file: join(dirname(file), path) });
  }

  /** Where it stands, or what it should stand in. */
  function lineAt(path: readonly PropertyKey[]): number | null {
    for (let depth = path.length; depth >= 0; depth -= 1) {
      const node = document.getIn(path.slice(0, depth), true);
      if (isNode(node) && node.range) return lines.linePos(node.range[0]).line;
    }
    return null;
  }
}

/** Without the place, which stands before it, and the lines it shows. */
const saidBy = ({ message }: YAMLError): string =>
  oneLine(message.split('\n', 1)[0]!).replace(/ at line \d+, column \d+:?$/, '');

async function textOf(path: string, name: string): Promise<string> {
  return readFile(path, 'utf8').catch((cause: Error) => {
    throw new UserError(`${name} can't be read: ${whyUnreadable(cause)}`, null, { cause });
  });
}
