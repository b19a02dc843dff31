/** A list of features, as people write it: one loop for each, those that others wait for first. */
import { readFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { isNode, LineCounter, parseDocument } from 'yaml';
import type { Context } from '../context.ts';
import { type Feature, featureProblem, inOrder } from '../core/plan/each.ts';
import type { Plan } from '../core/plan/plan.ts';
import { contractOfPlan, planTasks } from '../core/plan/start.ts';
import { isEnded, type Task } from '../core/task.ts';
import { oneLine } from '../core/words/fence.ts';
import { UserError, whyUnreadable } from '../errors.ts';
import { isRunnerAlive } from '../view.ts';
import { problemOf, z } from './input.ts';
import { type Beginning, begin, readPlan, starting } from './loops.ts';

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
  runnerAlive: boolean;
}> {
  if (input.mode === 'here')
    throw new UserError('Several loops have no one checkout to be shown in.', 'Leave out --mode here.');
  const { most, features } = await readFeatures(input.file);
  const ports = await context.ports();
  const { store } = ports;
  const loops = await starting(context, store, async (lease) => {
    const started: { name: string; task: Task; already: boolean; after: readonly string[] }[] = [];
    const group = ports.newId().slice(0, 8);
    for (const { name, after, plan, goal } of inOrder(features)) {
      const tasks = planTasks((await store.tasks()).map(({ task }) => task));
      const { hash } = contractOfPlan({ plan, goal });
      const same = tasks.find((task) => !isEnded(task) && task.issue === null && task.contract.hash === hash);
      const ids = after.map((other) => started.find((one) => one.name === other)!.task.id);
      const options = { plan, goal, wanted: name, options: input, group: { id: group, most, after: ids } };
      const task = same ?? (await begin(context, store, lease, tasks, options));
      started.push({ name, task, already: same !== undefined, after });
    }
    return started;
  });
  return {
    loops: loops.map(({ task, already, after }) => ({
      name: task.plan!.name,
      task: task.id,
      already,
      after,
    })),
    runnerAlive: await isRunnerAlive(store, context),
  };
}

interface PlannedFeature extends Feature {
  plan: Plan | null;
  goal: string | null;
}

async function readFeatures(file: string): Promise<{ most: number | null; features: PlannedFeature[] }> {
  const text = await textOf(file, file);
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines });
  const fail = (problem: string, line: number | null): UserError =>
    new UserError(`${file}${line === null ? '' : `:${line}`}: ${problem}`, 'See docs/plans.md.');
  const [broken] = document.errors;
  if (broken) throw fail(oneLine(broken.message), broken.linePos?.[0].line ?? null);
  const parsed = featureList.safeParse(document.toJS());
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw fail(problemOf(issue!), lineAt(issue!.path));
  }
  const { concurrency = null, features } = parsed.data;
  const lineOf = (at: number): number | null => lineAt(['features', at]);
  const wrong = featureProblem(features);
  if (wrong) throw fail(wrong.problem, lineOf(wrong.at));
  const planned = await Promise.all(
    features.map(async ({ name, after, plan: path, goal = null }, at) => {
      if (path === undefined && goal === null)
        throw fail(`"${name}" has neither a plan nor a goal`, lineOf(at));
      if (path === undefined) return { name, after, goal, plan: null };
      const found = resolve(dirname(file), path);
      const written = await textOf(found, `${file}:${lineOf(at)}: the plan of "${name}"`);
      return { name, after, goal, plan: readPlan({ text: written, file: path }).plan };
    }),
  );
  return { most: concurrency, features: planned };

  /** Where it stands, or what it should stand in. */
  function lineAt(path: readonly PropertyKey[]): number | null {
    for (let depth = path.length; depth >= 0; depth -= 1) {
      const node = document.getIn(path.slice(0, depth), true);
      if (isNode(node) && node.range) return lines.linePos(node.range[0]).line;
    }
    return null;
  }
}

async function textOf(path: string, name: string): Promise<string> {
  return readFile(path, 'utf8').catch((cause: Error) => {
    throw new UserError(`${name} can't be read: ${whyUnreadable(cause)}`, null, { cause });
  });
}
