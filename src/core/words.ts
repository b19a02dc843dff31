/** All we say to people: comments, pull requests, commit messages, the line that says why something waits. */
import type { AccountLimit } from './account.ts';
import type { LoopLimit } from './budget.ts';
import { shapedLikeSecrets } from './danger.ts';
import type { Facts } from './decision.ts';
import type { CoderSummary, Hold, HoldReason } from './event.ts';
import { findingText } from './feedback-text.ts';
import { oneLine, unfenced } from './fence.ts';
import { type Finding, leftAsIs } from './findings.ts';
import { type Evidence, wasRedBefore } from './gate.ts';
import { resultText } from './gate-text.ts';
import { REASONS } from './machine.ts';
import type { Policy } from './policy.ts';
import { type Specification, specificationText } from './specification.ts';
import { isByPerson, isEnded, type RecordedVerdict, type Task } from './task.ts';
import type { CriticReport, Judgement, Verdict } from './verdict.ts';

/** The one comment of an issue that is edited in place: where its newest attempt stands. */
export function statusComment(task: Task, spend: Facts['spend'], policy: Policy): string {
  const { verdict, pull } = task;
  const judged = verdict ? `, the last ${verdict.verdict} at \`${verdict.headSha.slice(0, 10)}\`` : '';
  return [
    `**${statusText(task)}**`,
    '',
    `- attempt ${task.attempt}, task \`${task.id}\``,
    `- ${count(task.turns, 'turn')} of at most ${policy.maxTurns}, ${count(task.criticRounds, 'critic round')}${judged}`,
    `- cost: ${costText(spend)}`,
    `- branch \`${task.branch}\`${pull === null ? '' : `, pull request #${pull}`}`,
  ].join('\n');
}

/** In one line, where a task stands. A wait that ends by itself within minutes is not worth a word. */
export function statusText(task: Task): string {
  const { state, hold, issue, verdict } = task;
  if (hold && hold.reason !== 'retry_backoff' && !isEnded(task)) return capital(holdText(hold, issue));
  switch (state) {
    case 'queued':
    case 'dispatched':
      return 'Taken up; waiting for a free slot';
    case 'running':
      return 'At work';
    case 'revising':
      return 'At work again: changes were asked for';
    case 'awaiting_critic':
    case 'merging':
      return verdict?.verdict === 'APPROVE' && verdict.headSha === task.head?.sha
        ? 'Approved, on its way to trunk'
        : 'In review';
    case 'merged':
      return `Merged as \`${task.mergedSha?.slice(0, 12)}\``;
    case 'completed':
      return 'Completed';
    case 'abandoned':
      return `Ended without a merge (\`${task.reason}\`): ${task.reason ? REASONS[task.reason].says : task.why}`;
    default:
      return state satisfies never;
  }
}

const capital = (text: string): string => `${text[0]?.toUpperCase()}${text.slice(1)}`;

export function declinedComment(problem: string, questions: readonly string[], readyLabel: string): string {
  return [
    `Declined for now: ${problem}, and so nobody could say when it is done. Please answer:`,
    '',
    ...questions.map((question) => `- ${question}`),
    '',
    `Put the answers into the issue text, then label it \`${readyLabel}\` again.`,
  ].join('\n');
}

export function withdrawnComment(readyLabel: string): string {
  return `The text was edited after this issue was made ready, so \`${readyLabel}\` no longer says that somebody agreed to it. Is the new text what you want? Then label it \`${readyLabel}\` again.`;
}

export function editedComment(task: Task, readyLabel: string): string {
  const kept = task.pull === null ? '' : ` The work so far is in pull request #${task.pull}.`;
  return `The text was edited while the loop was at work, so nothing is merged until somebody agrees to the new one.${kept} Label it \`${readyLabel}\` again, and the work goes on with the new text; restore the old text, and it goes on as it was.`;
}

/** For the record, and for whoever has to agree. The original stays the contract and stands below, word for word. */
export function specificationComment(
  task: Task,
  specification: Specification,
  status: 'adopted' | 'proposed',
): string {
  const lines =
    status === 'adopted'
      ? [
          'This issue is worked on with the following specification beside its own text, which stays the contract.',
        ]
      : [
          'Before this issue is worked on, somebody has to agree to the following specification of it.',
          '',
          `\`forge-loop task approve ${task.issue}\` agrees, also to the commands it names. To change it, put your own criteria into the issue text and make it ready again.`,
        ];
  const original = `${task.contract.title}\n\n${task.contract.body}`.trim();
  return [
    ...lines,
    '',
    specificationText(specification),
    '',
    'The issue as it was:',
    '',
    ...cut(original, MAX_ORIGINAL)
      .split('\n')
      .map((line) => `> ${line}`.trimEnd()),
  ].join('\n');
}

const MAX_ORIGINAL = 20_000;
const cut = (text: string, max: number): string =>
  text.length <= max ? text : `${text.slice(0, max)}\n… (the issue has the rest)`;

export function endedComment(
  task: Task,
  why: string,
  { spend, ledger }: Pick<Facts, 'spend' | 'ledger'>,
): string {
  if (task.state === 'merged') return mergedComment(task, spend, leftAsIs(ledger));
  const info = task.reason ? REASONS[task.reason] : null;
  const lines = [`Ended without a merge (\`${task.reason}\`): ${info?.says ?? why}.`];
  if (why && why !== info?.says) lines.push('', unfenced(why));
  if (task.reason === 'spec_rejected' && task.spec?.status === 'declined')
    lines.push('', 'Please answer:', '', ...task.spec.questions.map((question) => `- ${oneLine(question)}`));
  if (task.headSha)
    lines.push(
      '',
      `The work is on branch \`${task.branch}\` at \`${task.headSha.slice(0, 12)}\`; its worktree is kept.`,
    );
  if (info) lines.push('', adviceText(task) ?? '');
  return lines.join('\n');
}

/** What landed and on what evidence: the gate of the commit that landed, or of the branch where a person merged. */
function mergedComment(task: Task, spend: Facts['spend'], left: readonly Finding[]): string {
  const { verdict, candidateGate } = task;
  // A person may merge whatever the critic said.
  const by = verdict?.verdict === 'APPROVE' ? `, ${approvedText(verdict, left)}` : '';
  const rows = [
    [
      'verdict',
      verdict ? `${verdict.verdict} at \`${verdict.headSha.slice(0, 12)}\` by ${verdict.by}` : 'none',
    ],
    ['turns', String(task.turns)],
    ['critic rounds', String(task.criticRounds)],
    ['cost', costText(spend)],
  ];
  const gate = candidateGate ?? task.gate;
  return [
    `Merged as \`${task.mergedSha?.slice(0, 12)}\` after ${count(task.turns, 'turn')} and ${count(task.criticRounds, 'critic round')}${by}.`,
    '',
    ...(task.contract.criteria.length > 0 ? [criteriaTable({ ...task, gate }), ''] : []),
    candidateGate ? 'Verified on the commit that landed:' : 'Verified on its branch:',
    '',
    evidenceTable(gate),
    '',
    table(['', ''], rows),
    ...(left.length > 0 ? ['', 'Found, and left as it is:', '', ...left.map(leftText)] : []),
  ].join('\n');
}

/** Who approved, and whose word stood against what was found. */
export function approvedText({ by }: Pick<RecordedVerdict, 'by'>, left: readonly Finding[]): string {
  if (left.length === 0) return `approved by ${by}`;
  const people = [...new Set(left.map((finding) => inert(lastWord(finding).by)))].join(', ');
  return `approved by ${by}; ${count(left.length, 'finding')} left as ${left.length === 1 ? 'it is' : 'they are'} by ${people}`;
}

function leftText(finding: Finding): string {
  const { by, why } = lastWord(finding);
  const said = why ? `: ${inert(oneLine(why))}` : '';
  return `${inert(findingText(finding, finding.id))}\n  Decided by ${inert(by)}${said}`;
}

const lastWord = ({ history, source }: Finding): { by: string; why: string | null } =>
  history.at(-1) ?? { by: source, why: null };

function costText({ costUsd, tokens, complete = true }: Facts['spend']): string {
  if (!complete && costUsd === 0 && tokens === 0) return 'unknown';
  return `${complete ? '' : 'at least '}$${costUsd.toFixed(2)}, ${tokens} tokens`;
}

/** Under which name the loop itself holds the loop; a person's `resume` ends it all the same. */
export const holderOf = ({ why }: { why: string }): string => `forge-loop (${why})`;

export const refusedText = (said: string): string =>
  `an agent's provider refuses its credential: ${oneLine(said).slice(0, 200)}`;

export function untestedText(sha: string, tested: string): string {
  return `${sha.slice(0, 12)} landed with another tree than the one that was tested (${tested.slice(0, 12)})`;
}

export function trunkRedComment({ why }: { why: string }, evidence: Evidence): string {
  const found =
    evidence.outcome === 'fail' ? 'trunk does not pass the gate' : 'the gate could not run on trunk';
  return [
    `The loop is held: ${why}, and ${found}.`,
    '',
    evidenceTable(evidence),
    '',
    'Mend trunk, then `forge-loop resume`.',
  ].join('\n');
}

/** What a person does about an abandoned task. Where trunk itself was red, that comes first. */
export function adviceText(task: Task): string | null {
  if (!task.reason) return null;
  const { advice } = REASONS[task.reason];
  const before = redBeforeText(task);
  if (before === null || REASONS[task.reason].outcome !== 'failure') return advice;
  return `Mend trunk first: ${before}. Or set gate.preexisting: allow_unchanged, if that red is not to stand in the way. ${advice}`;
}

/** Said of a task whose gate is red by commands that were red on trunk when its work began. */
export function redBeforeText(task: Task): string | null {
  if (task.gate?.outcome !== 'fail') return null;
  const red = task.gate.results.filter(wasRedBefore).map((result) => `\`${result.command}\``);
  if (red.length === 0) return null;
  return `${red.join(', ')} ${red.length === 1 ? 'was' : 'were'} red on trunk before the work began`;
}

/** What stood open when a task ended, the gravest first: whoever looks for the reason should not have to search. */
export function openText(open: readonly Finding[]): string | null {
  const telling = open.filter(({ severity }) => severity !== 'sev3');
  if (telling.length === 0) return null;
  const shown = [...telling].sort((a, b) => a.severity.localeCompare(b.severity)).slice(0, 3);
  const texts = shown.map(({ id, message }) => `${oneLine(message).replace(/\.$/, '')} (finding ${id})`);
  const more = telling.length - shown.length;
  return `Still open: ${texts.join('; ')}${more > 0 ? `; and ${more} more` : ''}.`;
}

export function pullTitle(task: Task): string {
  return `${subject(task)} (#${task.issue})`;
}

export function pullBody(task: Task): string {
  return [
    `Fixes #${task.issue}`,
    '',
    `Task \`${task.id}\`, attempt ${task.attempt}.`,
    '',
    ...graveWarning(task),
    ...(task.summary ? [...summaryText(task.summary), ''] : []),
    ...(task.contract.criteria.length > 0 ? [criteriaTable(task), ''] : []),
    evidenceTable(task.gate),
  ].join('\n');
}

/** An agent's own words: indented, which Markdown shows as they are, so that they close no issue and call nobody. */
function summaryText({ summary, tests, open }: CoderSummary): string[] {
  const said = [
    summary,
    ...(tests === '' ? [] : ['', `Checked: ${tests}`]),
    ...(open.length === 0 ? [] : ['', 'Left open or assumed:', ...open.map((one) => `- ${oneLine(one)}`)]),
  ].join('\n');
  const lines = said.split(/\r\n|[\n\v\f\r\u0085\u2028\u2029]/);
  if (lines.some((line) => shapedLikeSecrets(line).length > 0))
    return ['The coder’s summary is not shown: something in it is shaped like a secret.'];
  return [
    'What its coder says of it; nothing was decided by it:',
    '',
    ...lines.map((line) => `    ${line.replaceAll('<!--', '<!\u200b--')}`),
  ];
}

/** A pass says little where the change meddles with what judges it: whoever reads the results learns that first. */
function graveWarning({ id, inspected, head, verdict }: Task): string[] {
  if (!inspected || inspected.grave.length === 0 || inspected.headSha !== head?.sha) return [];
  const agreed = verdict && isByPerson(verdict) && verdict.headSha === head.sha;
  const next = agreed
    ? `${inert(verdict.by)} has agreed to it`
    : 'nothing is merged until a person agrees to it';
  return [
    `**By rule:** this change touches what verifies it, or what is protected (${inspected.grave.join(', ')}; \`forge-loop findings --task ${id}\`). The results below may rest on that; ${next}.`,
    '',
  ];
}

/** The text of a pull request with what its task has cost when it is told. */
export const withCost = (body: string, spend: Facts['spend']): string =>
  `${body}\n\nCost so far: ${costText(spend)}.`;

/** Each criterion of the contract: what was found about it, on what evidence, and what its own command said. */
export function criteriaTable({ contract, verdict, gate }: Task): string {
  const said = verdict
    ? [`Judged by ${inert(verdict.by)} at \`${verdict.headSha.slice(0, 10)}\`, round ${verdict.round}:`]
    : ['Not judged yet.'];
  const rows = contract.criteria.map(({ id, text, verify }) => {
    const judged = verdict?.criteria.find((one) => one.id === id);
    const met = judged?.met ?? (verdict && isByPerson(verdict) ? `approved by ${verdict.by}` : '–');
    const ran = gate?.results.find(
      ({ criterion, command }) => criterion === id || (criterion === undefined && command === verify),
    );
    const proof = verify === null ? '' : `\`${verify}\`: ${ran ? resultText(ran) : 'not run'}`;
    return [id, text, met, judged?.evidence ?? '', proof];
  });
  return [...said, '', table(['', 'criterion', 'met', 'evidence', 'verify'], rows)].join('\n');
}

export function mergeMessage(task: Task, policy: Policy): string {
  const trailer = policy.coAuthor ? `\n\nCo-authored-by: ${policy.coAuthor}` : '';
  return `${subject(task)}\n\nIssue: #${task.issue}\nTask: ${task.id}${trailer}\n`;
}

/** A stranger's title on a commit of trunk: it closes no other issue, calls nobody and switches no CI off. */
const subject = ({ contract }: Task): string =>
  inert(oneLine(contract.title)).replace(/\[(skip ci|ci skip|no ci|skip actions|actions skip)\]/gi, '($1)');

export function checkpointMessage(task: Task): string {
  return `Checkpoint of #${task.issue} after turn ${task.turns}`;
}

export function evidenceTable(evidence: Evidence | null): string {
  if (!evidence || evidence.results.length === 0) return 'No verification commands are configured.';
  // A command may be listed twice: by the gate and by a criterion, or by several criteria.
  const rows = new Map(evidence.results.map((result) => [result.command, resultText(result)]));
  return table(
    ['command', 'result'],
    [...rows].map(([command, said]) => [`\`${command}\``, said]),
  );
}

export function couldNotRunText(gate: Evidence): string {
  const broken = gate.results.find((result) => result.outcome === 'could_not_run');
  return broken ? `\`${broken.command}\` ${broken.problem}` : 'the gate could not run';
}

export function couldNotRunComment(issue: number, gate: Evidence): string {
  const log = gate.results.find((result) => result.outcome === 'could_not_run')?.logPath;
  return [
    `Waiting for a person: the gate could not run, so nothing was judged. ${couldNotRunText(gate)}.`,
    ...(log ? ['', `Its output is in \`${log}\`.`] : []),
    '',
    `This is not held against the work. Mend the environment, then \`forge-loop resume ${issue}\`.`,
  ].join('\n');
}

export function redBeforeComment(task: Task): string {
  return [
    `Waiting for a person: ${redBeforeText(task)}, and still is, in the same way. The coder was told and left it.`,
    '',
    `Mend trunk, then \`forge-loop task retry ${task.issue}\`. Or set gate.preexisting: allow_unchanged, if that red is not to stand in the way.`,
  ].join('\n');
}

const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => '---'), ...rows.map((row) => row.map(cell))]
    .map((row) => `| ${row.join(' | ')} |`)
    .join('\n');

const cell = (text: string): string => inert(oneLine(text)).replaceAll('|', '\\|');

/** Words of strangers where a forge reads meaning into them: no mention of a person, no "fixes #7". */
const inert = (text: string): string => text.replace(/(?<!\w)@(?=\w)|#(?=\d)/g, '$&\u200b');

export function reviewBody(
  report: CriticReport,
  judged: RecordedVerdict,
  task: Task,
  open: readonly Finding[],
): string {
  const { verdict, round } = judged;
  const lines = [`**${verdict}** (round ${round})`];
  if (report.verdict !== verdict) lines.push('', saidOtherwise(report.verdict));
  if (report.summary) lines.push('', report.summary);
  const said = ({ repeats, ...finding }: CriticReport['findings'][number]): string =>
    `${findingText(finding)}${repeats ? `\n  Said to be the same as ${oneLine(repeats)}` : ''}`;
  if (report.findings.length > 0) lines.push('', ...report.findings.map(said));
  const isSaid = ({ file, message }: Finding): boolean =>
    report.findings.some((one) => one.file === file && one.message === message);
  const old = open.filter((finding) => finding.rounds.length > 1 && !isSaid(finding));
  if (old.length > 0) {
    const since = old.map(
      (finding) => `${findingText(finding, finding.id)}\n  Open since round ${finding.rounds[0]}`,
    );
    lines.push('', 'Still open from earlier rounds:', ...since);
  }
  if (report.minimalPathToGreen.length > 0)
    lines.push(
      '',
      'Shortest way to an approval:',
      ...report.minimalPathToGreen.map((step) => `- ${oneLine(step)}`),
    );
  if (task.contract.criteria.length > 0) lines.push('', criteriaTable({ ...task, verdict: judged }));
  const further = judged.criteria.filter(({ id }) => id === null);
  if (further.length > 0) lines.push('', ...further.map(judgementText));
  if (report.specDefects.length > 0)
    lines.push(
      '',
      'Defects of the issue itself:',
      ...report.specDefects.map((defect) => `- ${oneLine(defect)}`),
    );
  return lines.join('\n');
}

const saidOtherwise = (said: Verdict): string =>
  said === 'APPROVE'
    ? 'The report said APPROVE, which contradicts what it lists or what is still open.'
    : `The report said ${said}; a person had decided to leave all that it asks for.`;

/** Where it was opened next to what a person left: whoever mends it must not mend that. */
function besideText({ history }: Finding): string {
  const why = history.length === 1 ? history[0]!.why : null;
  return why ? `\n  It stands ${oneLine(why)}; that stays as it is.` : '';
}

const judgementText = ({ id, criterion, met, evidence }: Judgement): string =>
  `- [criterion ${met}] ${id === null ? '' : `${id} `}${oneLine(criterion)}${evidence ? `: ${oneLine(evidence)}` : ''}`;

export function changesText(
  report: CriticReport,
  judged: readonly Judgement[],
  open: readonly Finding[],
): string {
  const unmet = judged.filter((one) => one.met !== 'met');
  const lines = [
    ...open.map((finding) => `${findingText(finding)}${besideText(finding)}`),
    ...unmet.map(judgementText),
    ...(report.minimalPathToGreen.length > 0
      ? ['Shortest way to an approval:', ...report.minimalPathToGreen.map((step) => `- ${oneLine(step)}`)]
      : []),
    ...(report.summary ? [oneLine(report.summary)] : []),
  ];
  if (lines.length === 0) return 'It named no finding. Compare the change with every point of the issue.';
  return lines.join('\n');
}

/** The answer to a remark that the coder has worked in, or has read and left the head as it is. */
export function addressedText(headSha: string, changed: boolean): string {
  const sha = headSha.slice(0, 12);
  return changed
    ? `Worked in, as of \`${sha}\`.`
    : `Read. The coder changed nothing for it: the head is still \`${sha}\`.`;
}

export function takeBackText(grave: readonly Finding[]): string {
  return [
    ...grave.map((finding) => findingText(finding)),
    'Take these changes back completely, so that the files are as trunk has them, and do the work without them. If it',
    'can not be done without them, leave them: a person will decide.',
  ].join('\n');
}

export function conflictText(files: readonly string[]): string {
  const list = files.map((file) => `- ${file}`).join('\n');
  return `Trunk was merged into your work tree. Resolve what conflicts, keep both intentions, and leave no conflict marker:\n${list}`;
}

export function rewrittenText(baseSha: string, trunk: string): string {
  return `trunk was rewritten: ${trunk.slice(0, 10)} no longer contains ${baseSha.slice(0, 10)}, which this work builds on`;
}

/** Who or what ends a hold. */
export const HOLD_ADVICE: Record<HoldReason, string> = {
  retry_backoff: 'retried by itself',
  provider_limit: 'goes on when the limit resets',
  gate_could_not_run: 'mend the environment, then `forge-loop resume <issue>`',
  gate_empty: 'set gate.commands in WORKFLOW.md, or say `gate: none`',
  trunk_red:
    'mend trunk, then `forge-loop task retry <issue>`; or set gate.preexisting: allow_unchanged, and it goes on by itself',
  critic_unusable: 'check roles.critic, then `forge-loop resume <issue>`',
  needs_approval: '`forge-loop task approve <issue>`, since critic.enabled is false',
  needs_merge: 'merge its branch yourself, since merge.enabled is false',
  dirty_checkout: 'commit or stash your changes on trunk; goes on by itself',
  body_edited: 'the issue was edited: `forge-loop issue ready <issue>` to accept the new text',
  operator_pause: '`forge-loop resume <issue>`',
  protected_paths: 'read the change, then `forge-loop task approve <issue>` if it is wanted',
  secret_found:
    'nothing was pushed: `forge-loop findings wontfix <finding> --why …` if it is no secret, else `forge-loop task abandon <issue>`',
  trunk_rewritten:
    '`forge-loop task abandon <issue>`, then `forge-loop issue ready <issue>` for a new attempt on the trunk of today',
  prompt_broken: 'mend the template in WORKFLOW.md; goes on by itself, or with `forge-loop resume <issue>`',
  sandbox_unavailable: 'set `sandbox: auto` or `sandbox: none` in WORKFLOW.md; goes on by itself',
  spec_proposed:
    'read the specification in its comments, then `forge-loop task approve <issue>`, or edit the issue and make it ready again',
  merge_refused: 'see the detail, then `forge-loop resume <issue>`',
  rules_unmet: 'do what it says on the pull request; goes on by itself then',
  merge_queued: 'goes on by itself when the forge has merged it, or gives it back',
  checks_pending: 'see why CI does not answer; goes on by itself when the checks are reported',
  checks_red:
    'the coder was told and left the head as it is: run the check again, or push; goes on by itself when it is green',
  changes_requested: 'its author approves, somebody pushes, or says what is missing; goes on by itself then',
};

/** What ends the hold of a whole loop whose deploy did not succeed. */
export const DEPLOY_ADVICE = 'mend it, then `forge-loop resume` tries again';

export function holdText(hold: Hold, issue: number | null): string {
  const advice = HOLD_ADVICE[hold.reason].replaceAll('<issue>', String(issue ?? ''));
  return `held (${hold.reason}): ${oneLine(hold.detail)} — ${advice}`;
}

/** What holds the whole loop, and who ends it. */
export function loopLimitText({ scope, why }: LoopLimit): string {
  const end =
    scope === 'day'
      ? 'goes on at midnight, or when budget.day is raised'
      : 'raise budget.loop in WORKFLOW.md';
  return `${why} — ${end}`;
}

/** What holds every task of one provider, and what ends that. */
export const accountLimitText = ({ account, why }: AccountLimit): string =>
  `${account} is used up: ${oneLine(why)} — its tasks go on when the limit resets; \`forge-loop resume\` tries at once`;

export function budgetComment(says: string): string {
  return `Soon out of budget: ${says}. At the limit the task ends; raise \`budget\` in WORKFLOW.md if it is worth more.`;
}

export const count = (n: number, noun: string): string => `${n} ${noun}${n === 1 ? '' : 's'}`;
