/** `init`: asks on a terminal, takes the options as they are elsewhere. */
import { existsSync } from 'node:fs';
import type { Context } from '../context.ts';
import { branchesOf, noBranch, proposedTracker, proposedTrunk, requireBranch } from '../operations/init.ts';
import { chooseGate, type FoundGate, findGate, type TriedCommand } from '../operations/init-gate.ts';
import { perform } from '../operations.ts';
import type { Session } from './commands.ts';
import { showTrial } from './init-trial.ts';
import type { Terminal } from './terminal.ts';

export async function initialise(
  { context, terminal }: Session,
  options: Record<string, unknown>,
): Promise<number> {
  const { agent, command, script, gate, tracker, trunk, createLabels, mcp } = options;
  const canAsk = Boolean(process.stdin.isTTY) && terminal.isTty && !terminal.json;
  const isAsked = canAsk && !options.yes && !existsSync(context.configPath);
  const given = { agent, command, script, gate, tracker, trunk, createLabels, mcp };
  // An agent may write the file in its turn, but not start what the loop would have to answer for.
  const tries = options.try !== false && !(await context.isInTurn());
  if (given.trunk !== undefined) await requireBranch(context, String(given.trunk));
  const choices = isAsked
    ? await askFor(context, terminal, given, tries)
    : await withProposal(context, terminal, given, tries);
  if (!choices) {
    terminal.note('Nothing was written.');
    return 1;
  }
  const made = await perform(context, 'init', choices);
  const { TEXT } = await import('./text.ts');
  terminal.print(terminal.json ? JSON.stringify(made, null, 2) : TEXT.init(made, terminal));
  return 0;
}

/** Without anybody to ask: what passed is written. */
async function withProposal(
  context: Context,
  terminal: Terminal,
  given: Record<string, unknown>,
  tries: boolean,
): Promise<Record<string, unknown> | null> {
  if (given.gate !== undefined || existsSync(context.configPath)) return given;
  const trunk = (given.trunk as string | undefined) ?? (await proposedTrunk(context));
  const found = await findGate(context, trunk);
  const tried = tries ? await showTrial(context, found, terminal) : [];
  return tried && { ...given, ...chooseGate(found, tried) };
}

/** Null when the person gave up. */
async function askFor(
  context: Context,
  terminal: Terminal,
  given: Record<string, unknown>,
  tries: boolean,
): Promise<Record<string, unknown> | null> {
  const { text, select, multiselect, confirm, isCancel, intro, outro } = await import('@clack/prompts');
  intro('forge-loop');
  const agent =
    given.agent ??
    (given.command !== undefined
      ? 'command'
      : await select({
          message: 'Which agent does the work?',
          options: [
            {
              value: 'claude',
              label: 'Claude',
              hint: 'needs its Agent SDK, installed beside forge-loop',
            },
            { value: 'codex', label: 'Codex', hint: 'through `codex app-server`' },
            { value: 'opencode', label: 'OpenCode', hint: 'through its own server' },
            { value: 'acp', label: 'Another ACP agent', hint: 'a preset or a command' },
            { value: 'command', label: 'Any other program', hint: 'it gets the prompt on stdin' },
          ],
        }));
  if (isCancel(agent)) return null;
  const command =
    given.command ??
    (agent === 'command'
      ? await text({
          message: 'Which shell command runs your agent? It gets the prompt on stdin.',
          placeholder: 'my-agent --headless (leave empty to fill it in later)',
        })
      : undefined);
  if (isCancel(command)) return null;
  const isOnGitHub = (await proposedTracker(context)) === 'github';
  const tracker =
    given.tracker ??
    (isOnGitHub
      ? await select({
          message: 'Where are the issues and pull requests?',
          options: [
            { value: 'github', label: 'on GitHub' },
            { value: 'local', label: 'in this repository', hint: 'Markdown files under .forge/' },
          ],
        })
      : undefined);
  if (isCancel(tracker)) return null;
  const branch = (await proposedTrunk(context)) ?? '';
  const branches = await branchesOf(context);
  const trunk =
    given.trunk ??
    (await text({
      message: 'Which branch does work start from and land on?',
      placeholder: branch,
      defaultValue: branch,
      validate: (name) => branchProblem(name?.trim() || branch, branches),
    }));
  if (isCancel(trunk)) return null;
  const gate = given.gate === undefined ? await askForGate(String(trunk).trim()) : { gate: given.gate };
  if (gate === null) return null;
  const createLabels =
    given.createLabels ??
    (tracker === 'github'
      ? await confirm({ message: 'Create the labels of the loop there (loop:ready and six others)?' })
      : undefined);
  if (isCancel(createLabels)) return null;
  outro('Thank you.');
  return {
    ...given,
    agent,
    command: command || undefined,
    ...gate,
    tracker,
    trunk: String(trunk).trim(),
    createLabels,
  };

  async function askForGate(branch: string): Promise<Partial<Record<string, unknown>> | null> {
    const found = await findGate(context, branch);
    const commands = found.proposals.flatMap((one) => one.commands);
    if (commands.length === 0) return askForOwn();
    const isWanted =
      tries &&
      found.sha !== null &&
      (await confirm({ message: `Found: ${commands.join('; ')}. Run each once on ${branch}?` }));
    if (isCancel(isWanted)) return null;
    const tried = isWanted ? await showTrial(context, found, terminal) : [];
    if (tried === null) return null;
    const chosen = await multiselect({
      message: 'Which commands must pass before anything is merged?',
      options: [
        ...commands.map((value) => ({ value, label: value, hint: hintOf(value, found, tried) })),
        { value: '', label: 'a command of your own' },
      ],
      initialValues: chooseGate(found, tried).gate,
      required: false,
    });
    if (isCancel(chosen)) return null;
    const choice = chooseGate(found, tried, (command) => chosen.includes(command));
    if (!chosen.includes('')) return { ...choice };
    const own = await askForOwn();
    return own && { ...choice, gate: [...choice.gate, ...own.gate] };
  }

  async function askForOwn(): Promise<{ gate: string[] } | null> {
    const own = await text({
      message: 'Which command must pass before anything is merged?',
      placeholder: 'npm test (leave empty to fill it in later)',
    });
    if (isCancel(own)) return null;
    return { gate: (own ?? '').trim() === '' ? [] : [own] };
  }
}

export const branchProblem = (name: string, branches: ReadonlySet<string>): string | undefined =>
  name === ''
    ? 'Name a branch: HEAD is detached, so none is proposed.'
    : branches.has(name)
      ? undefined
      : noBranch(name);

const hintOf = (command: string, { sha }: FoundGate, tried: readonly TriedCommand[]): string => {
  const one = tried.find((run) => run.command === command);
  if (!one) return sha === null ? 'not run: there is no commit yet' : 'not run';
  return one.why ?? 'passed';
};
