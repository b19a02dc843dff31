/**
 * The tiny language of the transcripts. A block is one or more commands, a line `----`, and what followed from them.
 * Blocks are separated by blank lines. A block without `----` sets the stage: what follows from it is not shown. A
 * block that begins with # is for the reader.
 *
 * A command either changes the world (a person does something, time passes) or says what came of the action the core
 * is waiting for. Then the core looks, decides and acts until it waits again.
 */
import { commandIn } from '../../src/core/issue/command.ts';
import { type Ahead, asAhead, type Partners } from '../../src/core/line/line.ts';
import { draftEvents } from '../../src/core/plan/draft.ts';
import { parsePlan } from '../../src/core/plan/plan.ts';
import { placed, type Start } from '../../src/core/plan/start.ts';
import type { Policy } from '../../src/core/policy.ts';
import { promptContext } from '../../src/core/words/prompt-context.ts';
import { DEFAULT_PROMPTS } from '../../src/core/words/prompts.ts';
import { renderPrompt } from '../../src/config/prompt.ts';
import { bug, passed, planText } from '../support/plan-play.ts';
import { changes, EXPAND, evidence, type OtherInLine, Play, problem, redBefore, remark } from '../support/play.ts';
import { type PolicyChange, testPolicy } from '../support/policy.ts';
import { printed } from './printed.ts';

export function narrate(story: string): string {
  const play = new Play();
  return `${story
    .trim()
    .split(/\n{2,}/)
    .map((block) => retell(play, block))
    .join('\n\n')}\n`;
}

function retell(play: Play, block: string): string {
  if (block.startsWith('#')) return block;
  const [told = '', shown] = block.split(/^----$/m);
  const commands = told.trim().split('\n');
  const before = play.story.length;
  for (const command of commands) {
    try {
      perform(play, words(command));
    } catch (problem) {
      throw new Error(`"${command}": ${(problem as Error).message}`, { cause: problem });
    }
  }
  if (shown === undefined) return block;
  const steps = play.story.slice(before);
  const followed = steps.flatMap((step, index) => ('rest' in step && index < steps.length - 1 ? [] : printed(step)));
  return [...commands, '----', ...(followed.length > 0 ? followed : ['(nothing)'])].join('\n');
}

/** `verdict APPROVE`, `edit body "a new text"`, `policy max_turns=3`: quotes hold words together. */
const words = (command: string): string[] =>
  [...command.matchAll(/"([^"]*)"|(\S+?)="([^"]*)"|\S+/g)].map(([whole, quoted, key, value]) =>
    key === undefined ? (quoted ?? whole) : `${key}=${value}`,
  );

function perform(play: Play, [verb = '', ...rest]: string[]): void {
  const command = COMMANDS[verb];
  if (!command) throw new Error(`unknown command; known: ${Object.keys(COMMANDS).join(', ')}`);
  command(play, rest);
}

const COMMANDS: Record<string, (play: Play, rest: string[]) => void> = {
  // --- the stage ---------------------------------------------------------------------------------------------------
  policy(play, rest) {
    const set = pairs(rest);
    const change: PolicyChange = {
      ...(set.max_turns && { maxTurns: Number(set.max_turns) }),
      ...(set.idle_turns && { idleTurns: Number(set.idle_turns) }),
      ...(set.max_rounds && { critic: { maxRounds: Number(set.max_rounds) } }),
      ...(set.critic && { critic: { enabled: set.critic === 'on' } }),
      ...(set.required_check && { merge: { requiredChecks: [set.required_check] } }),
      ...(set.expand && { spec: { expand: set.expand as 'auto' } }),
      ...(set.merge && { merge: { enabled: set.merge === 'on' } }),
      ...(set.gate && { gate: { commands: gateCommands(set.gate) } }),
      ...(set.preexisting && { gate: { preexisting: set.preexisting as 'block' } }),
      ...(set.budget_usd && { budget: { usd: Number(set.budget_usd) } }),
      ...(loop(set) && { loop: loop(set)! }),
      ...(set.auditor_fallback && { agents: withFallback(set.auditor_fallback) }),
      ...(set.on_lost_session === 'fresh_session' && { recovery: { onLostSession: 'fresh_session' } }),
    };
    if (play.task) play.configure(change);
    else Object.assign(play, new Play(change));
  },
  issue(play, [, ...rest]) {
    const { title, body } = pairs(rest);
    const text = body?.replaceAll('\\n', '\n');
    Object.assign(play.world.issue!, { ...(title && { title }), ...(text && { body: text }) });
  },
  claim: (play) => void play.claim(),
  /**
   * `plan Schema API delivers=pull`: starts one of these milestones; `plan milestones=24` one of so many, `plan text="…\\n…"` one of this
   * text. What can't be read starts nothing. `goal "Faster."` starts one without.
   */
  plan(play, rest) {
    const { milestones, text, ...how } = pairs(rest.filter((word) => /^\w+=/.test(word)));
    const named = rest.filter((word) => !/^\w+=/.test(word));
    const titles = milestones ? Array.from({ length: Number(milestones) }, (_, at) => `Part ${at + 1}`) : named;
    const parsed = parsePlan(text?.replaceAll('\\n', '\n') ?? planText(...titles));
    if (parsed.ok) play.start(parsed.plan, how as Partial<Start>);
    else play.story.push({ refused: `${placed(parsed.problem)}. ${parsed.problem.advice}` });
  },
  /** `passes 23`: so many milestones are coded and found clean. */
  passes(play, [times]) {
    for (let count = 0; count < Number(times); count += 1) passed(play, `p${play.task.plan!.milestone + 1}`);
  },
  goal: (play, [goal]) => void play.start(null, { goal: goal! }),
  /** `draft 7 title="…" body="…"`: a planner writes a plan from an issue. */
  draft(play, [issue, ...rest]) {
    const { title = 'Issue', body = '' } = pairs(rest);
    play.world.issue = null;
    const contract = { title, body, hash: 'h', criteria: [] };
    play.commit(draftEvents({ issue: Number(issue), contract, by: 'ann' }), []);
    play.look();
  },
  slots(play, [state]) {
    play.world.slotsFull = state === 'full';
    if (play.task) play.look();
  },
  /** `ahead 5=k5 6=none`: who is in line before it, with their candidates; then `lands 5`, `leaves 5`. */
  ahead(play, rest) {
    const ahead = line(rest, 'm1');
    const commitOf = (task: string) => ahead.find((one) => one.task === task)?.candidate?.sha ?? null;
    Object.assign(play.world, { ahead, commitOf, partners: 'in_line' });
    if (play.task) play.look();
  },
  /** `batch`, or with who is behind it, `batch 9=k9`: all in line are tested together. Then `tests 9`, `found 9 pass`. */
  batch(play, rest) {
    play.world.behind = line(rest, play.task?.landing?.candidate.sha ?? 'none', [...play.world.ahead, OWN]);
    if (play.task) play.look();
  },
  tests: (play, [issue]) => changeOther(play, issue, () => ({ isTesting: true })),
  found: (play, [issue, outcome]) =>
    changeOther(play, issue, ({ candidate }) => ({
      isTesting: false,
      gate: evidence(candidate!.tree, outcome as 'pass', play.policy, play.task.contract),
    })),
  lands(play, [issue]) {
    const { candidate } = play.world.ahead.find((one) => one.issue === Number(issue))!;
    play.change({ ...without(play, issue, 'landed'), trunk: candidate!.sha });
  },
  leaves: (play, [issue]) => void play.change(without(play, issue, 'gone')),
  merge: (play, [state]) => void play.change({ mergeFree: state === 'free' }),
  checkout: (play, [state, detail]) => void play.change({ mergeBlocker: state === 'dirty' ? (detail ?? '') : null }),
  rules(play, [, file, message]) {
    const found = { ...problem('sev1', message!), file: file!, line: null, scenario: null, suggestion: null };
    play.world.rules = [{ ...found, severity: 'sev1', context: 'blob' }];
  },
  wait: (play, [time]) => void play.wait(seconds(time)),
  look: (play) => void play.look(),

  // --- what came of an action ----------------------------------------------------------------------------------------
  turn(play, [status, code, ...rest]) {
    const { reset } = pairs(rest);
    const retryAt = reset ? play.now + seconds(reset) : null;
    play.turn(status as 'finished', { code: code ?? null, message: code ? `the provider said: ${code}` : '', retryAt });
  },
  /** `budget day spent until=8h`, `budget loop spent`, `budget raised`. */
  budget(play, [scope, , ...rest]) {
    const { until } = pairs(rest);
    const limit = {
      scope: scope as 'day' | 'loop',
      why: `the budget of the ${scope} is spent: $20.00 of $20.00 spent`,
      until: until ? seconds(until) : null,
    };
    play.change({ loopLimit: scope === 'raised' || scope === 'fresh' ? null : limit });
  },
  spend: (play, [usd]) => void play.change({ spend: { costUsd: Number(usd?.slice(1)), tokens: 0 } }),
  checkpoint(play, [sha, how]) {
    if (sha === 'refused') play.answer({ kind: 'refused', problem: how ?? '' });
    else play.checkpoint(sha!, { empty: how === 'empty' });
  },
  /** `gate fail failing=old,new before=old`: a report names the failing tests, here and on trunk. */
  gate(play, [outcome, how, ...rest]) {
    if (how === 'flaky') play.gated({ first: { ...redRun, tail: '' } });
    else if (how === 'red-before') play.gated(redBefore());
    else if (how?.startsWith('failing=')) play.gated(redTests(pairs([how, ...rest])));
    else play.gate(outcome as 'pass');
  },
  /** `c2=unmet` judges a criterion, `c2=left-out` does not; those that are not named are met. */
  verdict(play, [verdict, ...rest]) {
    const judged = pairs(rest.filter(isJudgement));
    const [severity, message] = rest.filter((word) => !isJudgement(word));
    const criteria = play.task.contract.criteria
      .map(({ id }) => ({ id, met: judged[id] ?? 'met', evidence: `seen at ${play.task.headSha}` }))
      .filter(({ met }) => met !== 'left-out');
    if (verdict === 'unusable') play.turn('finished', { text: 'Looks fine to me.' });
    else if (verdict === 'REQUEST_CHANGES') play.critic({ ...changes(message, severity), criteria });
    else play.critic({ verdict, criteria, findings: severity ? [problem(severity, message ?? '')] : [] });
  },
  /** `audit clean resolves=1 done="tables"`, `audit dirty "a bug" "another"`, `audit clean amends=2 text="…"`, `audit missing`. */
  audit(play, [how, ...rest]) {
    if (how === 'missing') return void play.turn('finished', { text: 'Looks fine to me.' });
    const { resolves, amends, text, done } = pairs(rest.filter((word) => /^\w+=/.test(word)));
    const found = rest.filter((word) => !/^\w+=/.test(word));
    play.audit({
      clean: how === 'clean',
      findings: found.map((one, index) => bug(one, { line: index + 3 })),
      resolved: resolves?.split(',').map((id) => ({ id })) ?? [],
      amendments: amends ? [{ milestone: Number(amends), text, rationale: 'it showed on the way' }] : [],
      summary: { done: done ?? '' },
    });
  },
  /** Shows what the agent at work was told; `found`: it finds skills by itself. */
  prompt(play, [how]) {
    const { task, policy, findings } = play;
    const run = play.run();
    if (run?.kind !== 'turn') throw new Error('no turn is at work');
    const conventions = [{ path: 'AGENTS.md', text: 'Tests first.' }];
    const text = how === 'found' ? null : 'Read the whole diff. Remove what nobody needs.';
    const skill = policy.loop.postAction?.skill ? { text } : undefined;
    const inputs = { history: '', ...(skill && { skill }), diff: '+ a line', findings, conventions, remarks: [], transcript: '' };
    const context = promptContext(run.prompt, task, run.turn, policy, inputs, run.priorFailure);
    play.story.push({ prompt: renderPrompt(run.prompt, DEFAULT_PROMPTS[run.prompt], context) });
  },
  specifier(play, [decision, ...said]) {
    if (decision === 'unusable') play.turn('finished', { text: 'Sounds good.' });
    else if (decision === 'expand') play.specifier({ ...EXPAND, ...(said[0] && { problem: said[0] }) });
    else if (decision === 'contradicts') play.specifier({ decision: 'ready', contradictions: said });
    else play.specifier({ decision, questions: said });
  },
  candidate(play, [sha, on, trunk]) {
    if (sha === 'conflicts') play.answer({ kind: 'conflict', files: ['a.ts'], trunk: trunk! });
    else if (sha === 'empty') play.answer({ kind: 'empty', trunk: trunk! });
    else if (sha === 'rewritten') play.answer({ kind: 'rewritten', baseSha: play.task.baseSha!, trunk: trunk! });
    else if (on === 'on') play.candidate(sha!, trunk!);
    else throw new Error('say `candidate <sha> on <trunk>`');
  },
  merged(play, [, , ...files]) {
    play.answer({ kind: 'merged_in', conflicts: files, landed: ['m2 Rename the flag (#6)'] });
  },
  landed: (play, [sha]) => void play.landed(sha!),
  /** `landing refused "why"`: by the forge, for now. */
  landing: (play, [, detail]) => void play.answer({ kind: 'landing_refused', detail: detail! }),
  /** `push refused "why"`: the next one, that is. */
  push: (play, [, detail]) => void play.failing.set('push', [{ kind: 'publish_refused', detail: detail! }]),
  /** `trunk moved` under a landing; `trunk is m2`, whatever the task does. */
  trunk(play, [how, sha]) {
    if (how === 'is') play.change({ trunk: sha! });
    else play.answer({ kind: 'trunk_moved' });
  },
  workspace(play, [, problem]) {
    play.failing.set('prepare_workspace', [{ kind: 'workspace_failed', problem: problem ?? '' }]);
  },

  // --- people --------------------------------------------------------------------------------------------------------
  person(play, [does, what]) {
    const pull = { state: 'open', mergedSha: null, approvals: [] } as const;
    if (does === 'pushes') play.change({ branch: { sha: what!, tree: `tree-${what}` } });
    else if (does === 'merges') {
      play.world.issue = { ...play.world.issue!, state: 'closed' };
      play.change({ pull: { ...pull, state: 'merged', mergedSha: what! } });
    } else if (does === 'approves') play.change({ pull: { ...pull, approvals: [{ headSha: what!, by: 'ann' }] } });
    else if (does === 'closes' && what === 'pull') play.change({ pull: { ...pull, state: 'closed' } });
    else if (does === 'closes') play.issue({ state: 'closed' });
    else if (does === 'deletes') play.change({ branch: null });
    else if (does === 'labels') play.issue({ labels: [...play.world.issue!.labels, what!] });
    else if (does === 'unlabels') play.issue({ labels: play.world.issue!.labels.filter((label) => label !== what) });
    else if (does === 'edits') play.issue({ body: what!, textHash: `hash of "${what}"` });
    else if (does === 'readies') play.issue({ readyHash: play.world.issue!.textHash });
    else throw new Error('unknown deed');
  },
  ci(play, [name, state, logTail, ...rest]) {
    const { required } = pairs(rest);
    play.ci(name!, state as 'red', { logTail: logTail ?? null, required: required !== 'no' });
  },
  says(play, [author, body, ...rest]) {
    const { verdict = 'comment', file, line, access } = pairs(rest);
    const place = { file: file ?? null, line: line ? Number(line) : null };
    const said = remark(body!, verdict as 'comment', { author: author!, mayWrite: access !== 'no', ...place });
    if (commandIn(body!) === null) play.hears(said);
    else play.command(said);
  },
  /** `tells "Call it slug."`: a person tells the task something. */
  tells: (play, [why]) => void play.ask('tell', 'ann', { why: why! }),
  /** `comments a.ts 3 "This loses data."`: a person's finding at a line of the change. */
  comments(play, [file, line, description]) {
    const finding = JSON.stringify({ severity: 'bug', file, line: Number(line), description });
    play.ask('write', 'ann', { finding });
  },
  /** `ask wontfix t1.1 \"because\"` is about a finding. */
  ask: (play, [kind, finding, why]) =>
    void play.ask(kind!, 'ann', { ...(finding && { finding }), ...(why && { why }) }),
  restart: (play) => void play.restart(),

  /** `stalls 4`: the turn at work says nothing for so long, so often. `stalls 4 at-work`: each time it called a tool before. */
  stalls(play, [times, how]) {
    for (let count = 0; count < Number(times); count += 1) {
      if (how === 'at-work') play.progress({ kind: 'tool', tool: 'Read', detail: 'a.ts' });
      play.wait(play.policy.agents.coder.stallTimeoutMs);
      if (play.pending[0]?.action.kind === 'checkpoint') play.checkpoint(play.task.headSha ?? 'c0');
      if (play.task.hold?.until) play.wait(play.task.hold.until - play.now);
    }
  },
  /** `finishes "tables" tests="npm test" choice="integers" note="…"`: the coder at work sums up what it did. */
  finishes(play, [summary, ...rest]) {
    const { tests = '', choice, note } = pairs(rest);
    const said = { summary: summary!, tests, choices: choice ? [choice] : [], open: note ? [note] : [] };
    play.turn('finished', { summary: said });
  },
  /** `says`, of the coder whose turn is at work, as its last message. */
  answers: (play, [text]) => void play.turn('finished', { text: text! }),

  // --- disaster ------------------------------------------------------------------------------------------------------
  crash: (play, rest) => void play.crash(probes(rest)),
  /** As `crash`, of a task that is left to people. */
  killed: (play, rest) => void play.recover(probes(rest)),
};

function probes(rest: string[]): Parameters<Play['recover']>[0] {
  const { session = 'resumable', workspace = 'intact' } = pairs(rest);
  return {
    session: session as 'resumable',
    workspace: { exists: workspace !== 'lost', intact: workspace === 'intact', problem: null },
  };
}

function loop({
  max_iterations,
  sessions,
  post_action,
  skill,
}: Record<string, string>): Partial<Policy['loop']> | null {
  if (!max_iterations && !sessions && !post_action && !skill) return null;
  return {
    ...(max_iterations && { maxIterations: Number(max_iterations) }),
    ...(sessions && { session: sessions as 'rotate' }),
    ...((post_action || skill) && {
      postAction: { skill: skill ?? null, prompt: post_action ?? null, model: null },
    }),
  };
}

function withFallback(model: string): Partial<Policy['agents']> {
  const { agents } = testPolicy();
  return { ...agents, auditor: { ...agents.auditor, fallbackModels: [model] } };
}

const OWN = { task: 't1', issue: 7 };

/** Each on top of the one before. */
function line(rest: string[], base: string, before: readonly Ahead[] = []): OtherInLine[] {
  const ahead = [...before];
  let trunk = base;
  return Object.entries(pairs(rest)).map(([issue, sha]) => {
    const one = { task: `t${issue}`, issue: Number(issue) };
    const candidate = sha === 'none' ? null : { sha, tree: `tree-${sha}`, trunk, headSha: `head of #${issue}` };
    trunk = sha;
    ahead.push(one);
    return { ...one, candidate, ahead: ahead.slice(0, -1).map(asAhead) };
  });
}

function changeOther(play: Play, issue: string | undefined, to: (one: OtherInLine) => Partial<OtherInLine>): void {
  const changed = (one: OtherInLine) => (one.issue === Number(issue) ? { ...one, ...to(one) } : one);
  const { ahead, behind } = play.world;
  play.change({ ahead: ahead.map(changed), behind: behind?.map(changed) ?? null });
}

function without(play: Play, issue: string | undefined, became: Partners): Pick<Play['world'], 'ahead' | 'behind' | 'partners'> {
  const isLeft = (one: OtherInLine): boolean => one.issue !== Number(issue);
  const ahead = play.world.ahead.filter(isLeft);
  const isAnyLeft = ahead.some(({ task }) => play.task.misfit?.with.some((partner) => partner.task === task));
  const behind = play.world.behind?.filter(isLeft) ?? null;
  return { ahead, behind, partners: isAnyLeft ? 'in_line' : became };
}

const isJudgement = (word: string): boolean => /^c\d+=/.test(word);

const pairs = (rest: string[]): Record<string, string> =>
  Object.fromEntries(rest.map((word) => [word.slice(0, word.indexOf('=')), word.slice(word.indexOf('=') + 1)]));

const redRun = { outcome: 'fail', exitCode: 1, problem: 'exit 1', logPath: null, durationMs: 1 } as const;

const gateCommands = (said: string): string[] | 'none' => (said === 'none' ? 'none' : said === 'empty' ? [] : [said]);

function seconds(time: string | undefined): number {
  const [, count, unit] = /^(\d+)(s|m|h)$/.exec(time ?? '') ?? [];
  if (!count || !unit) throw new Error('say a time like 10s, 5m or 8h');
  return Number(count) * { s: 1000, m: 60_000, h: 3_600_000 }[unit as 's' | 'm' | 'h'];
}

function redTests({ failing = '', before = '', vanished }: Record<string, string>) {
  const some = vanished?.split(',') ?? [];
  const here = { failing: failing.split(','), vanished: { count: some.length, some } };
  return redBefore(here, { failing: before.split(',') });
}
