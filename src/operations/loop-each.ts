/** A list of features, as people write it: one loop for each, those that others wait for first. */
import { readFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { parseDocument } from 'yaml';
import type { Context } from '../context.ts';
import { type Feature, featureProblem, inOrder } from '../core/plan/each.ts';
import type { Plan } from '../core/plan/plan.ts';
import { contractOfPlan, planTasks } from '../core/plan/start.ts';
import { isEnded, type Task } from '../core/task.ts';
import { UserError } from '../errors.ts';
import { isRunnerAlive } from '../view.ts';
import { problemOf, z } from './input.ts';
import { type Beginning, begin, readPlan, starting } from './loops.ts';

const featureList = z.object({
  concurrency: z.number().int().positive().optional(),
  features: z
    .array(
      z.object({
        name: z.string().trim().min(1),
        plan: z.string().min(1).optional(),
        goal: z.string().trim().min(1).optional(),
        after: z.array(z.string().trim().min(1)).default([]),
      }),
    )
    .min(1),
});

/** One loop for each feature of a list. Nothing is started before all of it was found to be sound. */
export async function startEach(
  context: Context,
  input: { file: string } & Beginning['options'],
): Promise<{
  loops: { name: string; task: string; already: boolean; after: readonly string[] }[];
  runnerAlive: boolean;
}> {
  await context.refuseInTurn('loop start');
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
  const fail = (problem: string, line: number | null = null): UserError =>
    new UserError(`${file}${line === null ? '' : `:${line}`}: ${problem}`, 'See docs/plans.md.');
  const text = await readFile(file, 'utf8').catch((error: Error) => {
    throw fail(error.message);
  });
  const document = parseDocument(text);
  const [broken] = document.errors;
  if (broken) throw fail(broken.message, broken.linePos?.[0].line ?? null);
  const parsed = featureList.safeParse(document.toJS());
  if (!parsed.success) throw fail(problemOf(parsed.error.issues[0]!));
  const wrong = featureProblem(parsed.data.features);
  if (wrong) throw fail(wrong.problem, lineOf(text, wrong.name));
  const features = await Promise.all(
    parsed.data.features.map(async ({ name, after, plan: path, goal = null }) => {
      if (path === undefined && goal === null)
        throw fail(`"${name}" has neither a plan nor a goal`, lineOf(text, name));
      if (path === undefined) return { name, after, goal, plan: null };
      const at = resolve(dirname(file), path);
      const plan = await readFile(at, 'utf8').catch((error: Error) => {
        throw fail(`the plan of "${name}": ${error.message}`, lineOf(text, name));
      });
      return { name, after, goal, plan: readPlan({ text: plan, file: at }).plan };
    }),
  );
  return { most: parsed.data.concurrency ?? null, features };
}

const lineOf = (text: string, name: string): number | null => {
  const at = text.split('\n').findIndex((line) => line.includes(name));
  return at === -1 ? null : at + 1;
};
