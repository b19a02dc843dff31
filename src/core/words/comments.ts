/** What we say on issues and pull requests, and in commit messages. */

import { shapedLikeSecrets } from '../change/danger.ts';
import { type Finding, leftAsIs } from '../change/findings.ts';
import type { Facts } from '../decision.ts';
import type { CoderSummary } from '../event.ts';
import type { Evidence } from '../gate.ts';
import { type Specification, specificationText } from '../issue/specification.ts';
import { REASONS } from '../machine.ts';
import type { PlanProgress } from '../plan/progress.ts';
import type { Policy } from '../policy.ts';
import { isByPerson, nameOfTask, type RecordedVerdict, type Task, turnsHere, verdictAt } from '../task.ts';
import { shortened } from '../text/shortened.ts';
import type { CriticReport, Verdict } from '../verdict.ts';
import { findingText } from './feedback-text.ts';
import { oneLine, unfenced } from './fence.ts';
import { resultText } from './gate-text.ts';
import { amendedText } from './plan-text.ts';
import { shortSha } from './short-sha.ts';
import { tellingLines } from './telling-lines.ts';
import {
  adviceText,
  brokenText,
  capital,
  couldNotRun,
  count,
  judgementText,
  otherAdvice,
  redBeforeText,
  statusText,
  subjectOf,
  togetherText,
} from './words.ts';

/** The one comment of an issue that is edited in place: where its newest attempt stands. */
export function statusComment(
  task: Task,
  { spend, ledger }: Pick<Facts, 'spend' | 'ledger'>,
  policy: Policy,
): string {
  const { verdict, pull } = task;
  if (task.state === 'merged') return mergedComment(task, spend, leftAsIs(ledger));
  const judged = verdict ? `, the last ${verdict.verdict} at \`${shortSha(verdict.headSha)}\`` : '';
  return [
    `**${statusText(quoting(task))}**`,
    '',
    `- attempt ${task.attempt}, task \`${task.id}\``,
    `- ${count(turnsHere(task), 'turn')} of at most ${policy.maxTurns}, ${count(task.criticRounds, 'critic round')}${judged}`,
    `- cost: ${costText(spend)}`,
    `- branch \`${task.branch}\`${pull === null ? '' : `, pull request #${pull}`}`,
    ...(task.plan?.warnings ?? []).map((one) => `- its plan, ${one}`),
  ].join('\n');
}

/** What holds it may quote the output of a command. */
const quoting = (task: Task): Task =>
  task.hold ? { ...task, hold: { ...task.hold, detail: inert(task.hold.detail) } } : task;

export function declinedComment(problem: string, questions: readonly string[], readyLabel: string): string {
  return [
    `Not started: ${problem}, so there is no way to tell when it is done. Please answer:`,
    '',
    ...questions.map((question) => `- ${question}`),
    '',
    `Put the answers into the issue text, then label it \`${readyLabel}\` again.`,
  ].join('\n');
}

export function withdrawnComment(readyLabel: string): string {
  return `The text changed after this issue was labelled \`${readyLabel}\`. If the new text is right, label it \`${readyLabel}\` again.`;
}

export function editedComment(task: Task, readyLabel: string): string {
  const kept = task.pull === null ? '' : ` The work so far is in pull request #${task.pull}.`;
  return `The text changed while the loop was working on it, so nothing merges until someone accepts the new text.${kept} To continue with the new text, label it \`${readyLabel}\` again.`;
}

/** For the record, and for whoever has to agree. The original stays the contract and stands below, word for word. */
export function specificationComment(
  task: Task,
  specification: Specification,
  status: 'adopted' | 'proposed',
): string {
  const lines =
    status === 'adopted'
      ? ['Work on this issue follows this specification. The issue text stays the contract.']
      : [
          'Someone must approve this specification before work starts.',
          '',
          `\`forge-loop task approve ${task.issue}\` approves it, including its commands. To change it, put your own criteria into the issue text and mark it ready again.`,
        ];
  const original = `${task.contract.title}\n\n${task.contract.body}`.trim();
  return [
    ...lines,
    '',
    specificationText(specification),
    '',
    'The original issue:',
    '',
    ...cut(original, MAX_ORIGINAL)
      .split('\n')
      .map((line) => `> ${line}`.trimEnd()),
  ].join('\n');
}

const MAX_ORIGINAL = 20_000;
const cut = (text: string, max: number): string =>
  text.length <= max ? text : `${text.slice(0, max)}\n… (the issue has the rest)`;

export function endedComment(task: Task, why: string): string {
  const info = task.reason ? REASONS[task.reason] : null;
  const lines = [`Ended without a merge (\`${task.reason}\`): ${info?.says ?? why}.`];
  if (why && why !== info?.says) lines.push('', unfenced(why));
  if (task.reason === 'spec_rejected' && task.spec?.status === 'declined')
    lines.push('', 'Please answer:', '', ...task.spec.questions.map((question) => `- ${oneLine(question)}`));
  if (task.headSha)
    lines.push(
      '',
      `The work is on branch \`${task.branch}\` at \`${shortSha(task.headSha)}\`; its worktree is kept.`,
    );
  if (info) lines.push('', adviceText(task) ?? '');
  return lines.join('\n');
}

/** What landed and on what evidence: the gate of the commit that landed, or of the branch where a person merged. */
function mergedComment(task: Task, spend: Facts['spend'], left: readonly Finding[]): string {
  const { verdict, landing } = task;
  // A person may merge whatever the critic said.
  const by = verdict?.verdict === 'APPROVE' ? `, ${approvedText(verdict, left)}` : '';
  const rows = [
    ['verdict', verdict ? `${verdict.verdict} at \`${shortSha(verdict.headSha)}\` by ${verdict.by}` : 'none'],
    ['turns', String(task.turns)],
    ['critic rounds', String(task.criticRounds)],
    ['cost', costText(spend)],
  ];
  const gate = landing?.gate ?? task.gate;
  return [
    `**${statusText(task)}** after ${count(task.turns, 'turn')} and ${count(task.criticRounds, 'critic round')}${by}.`,
    '',
    ...(task.contract.criteria.length > 0 ? [criteriaTable({ ...task, gate }), ''] : []),
    landing?.gate ? `Verified ${whereTested(landing)}:` : 'Verified on its branch:',
    '',
    evidenceTable(gate),
    '',
    table(['', ''], rows),
    '',
    `Task \`${task.id}\`, attempt ${task.attempt}${task.pull === null ? '' : `, pull request #${task.pull}`}.`,
    ...(left.length > 0 ? ['', 'Found and left as is:', '', ...left.map(leftText)] : []),
  ].join('\n');
}

const whereTested = ({ within }: NonNullable<Task['landing']>): string =>
  within
    ? `${togetherText(within.with, within.sha)}, which contains the commit that landed`
    : 'on the commit that landed';

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
  if (!complete && costUsd === 0) return `price unknown, at least ${tokens} tokens`;
  return `${complete ? '' : 'at least '}$${costUsd.toFixed(2)}, ${tokens} tokens`;
}

export function trunkRedComment({ why }: { why: string }, evidence: Evidence): string {
  const found =
    evidence.outcome === 'fail' ? 'trunk does not pass the gate' : 'the gate could not run on trunk';
  return [
    `The loop is held: ${why}, and ${found}.`,
    '',
    evidenceTable(evidence),
    '',
    'Fix trunk, then `forge-loop resume`.',
  ].join('\n');
}

export function pullTitle(task: Task): string {
  return task.issue === null ? subject(task) : `${subject(task)} (#${task.issue})`;
}

export function pullBody(task: Task): string {
  return [
    task.issue === null ? `Implements the ${subjectOf(task)}.` : `Fixes #${task.issue}`,
    '',
    `Task \`${task.id}\`, attempt ${task.attempt}.`,
    '',
    ...graveWarning(task),
    ...(task.plan ? amendments(task.plan) : []),
    ...(task.summary ? [...summaryText(task.summary), ''] : []),
    ...(task.contract.criteria.length > 0 ? [criteriaTable(task), ''] : []),
    evidenceTable(task.gate),
  ].join('\n');
}

/** Whoever reads the plan beside the pull request has to know what of it no longer holds. */
function amendments(plan: PlanProgress): string[] {
  const text = amendedText(plan);
  if (text === '') return [];
  const says = 'The auditor amended the plan during the work. The amendment takes precedence:';
  return [...quoted(says, text, 'The auditor amended the plan; the text is not shown'), ''];
}

function summaryText({ summary, tests, open }: CoderSummary): string[] {
  const said = [
    summary,
    ...(tests === '' ? [] : ['', `Checked: ${tests}`]),
    ...(open.length === 0 ? [] : ['', 'Left open or assumed:', ...open.map((one) => `- ${oneLine(one)}`)]),
  ].join('\n');
  const says = "The coder's own summary (not used as evidence):";
  return quoted(says, said, 'The coder’s summary is not shown');
}

/** An agent's own words: indented, which Markdown shows as they are, so that they close no issue and call nobody. */
function quoted(says: string, text: string, hidden: string): string[] {
  const lines = text.split(/\r\n|[\n\v\f\r\u0085\u2028\u2029]/);
  if (lines.some((line) => shapedLikeSecrets(line).length > 0))
    return [`${hidden}: it contains something that looks like a secret.`];
  return [says, '', ...lines.map((line) => `    ${line.replaceAll('<!--', '<!\u200b--')}`)];
}

/** A pass says little where the change meddles with what judges it: whoever reads the results learns that first. */
function graveWarning(task: Task): string[] {
  const { id, inspected, head } = task;
  if (!inspected || inspected.grave.length === 0 || inspected.headSha !== head?.sha) return [];
  const verdict = verdictAt(task, inspected.headSha);
  const next =
    verdict && isByPerson(verdict)
      ? `${inert(verdict.by)} approved it`
      : 'A person must approve it before it merges';
  return [
    `**This change touches its own checks or protected files** (${inspected.grave.join(', ')}; see \`forge-loop findings --task ${id}\`): the results below may depend on it. ${next}.`,
    '',
  ];
}

/** The text of a pull request with what its task has cost when it is told. */
export const withCost = (body: string, spend: Facts['spend']): string =>
  `${body}\n\nCost so far: ${costText(spend)}.`;

/** Each criterion of the contract: what was found about it, on what evidence, and what its own command said. */
function criteriaTable({ id: task, contract, verdict, gate }: Task): string {
  const said = verdict ? judgedText(verdict) : 'Not judged yet.';
  const rows = contract.criteria.map(({ id, text, verify }) => {
    const judged = verdict?.criteria.find((one) => one.id === id);
    const met = judged?.met ?? (verdict && isByPerson(verdict) ? `approved by ${verdict.by}` : '–');
    const ran = gate?.results.find(
      ({ criterion, of = task, command }) =>
        (criterion === id && of === task) || (criterion === undefined && command === verify),
    );
    const proof = verify === null ? '' : `\`${verify}\`: ${ran ? resultText(ran) : 'not run'}`;
    return [id, text, met, judged?.evidence ?? '', proof];
  });
  return [said, '', table(['', 'criterion', 'met', 'evidence', 'verify'], rows)].join('\n');
}

function judgedText(verdict: RecordedVerdict): string {
  const at = `\`${shortSha(verdict.headSha)}\``;
  return isByPerson(verdict)
    ? `Approved by ${inert(verdict.by)} at ${at}:`
    : `Judged by ${verdict.by} at ${at}, round ${verdict.round}:`;
}

export function mergeMessage(task: Task, policy: Policy, forge: string): string {
  const trailer = policy.coAuthor ? `\n\nCo-authored-by: ${policy.coAuthor}` : '';
  const source =
    task.issue === null
      ? `${capital(task.kind)}: ${nameOfTask(task)}`
      : `Issue: ${issueIn(forge, task.issue)}`;
  const [first, rest] = subjectAndRest(subject(task));
  return `${first}\n\n${rest === '' ? '' : `${rest}\n\n`}${source}\nTask: ${task.id}${trailer}\n`;
}

/** As git and GitHub do it: what a subject has no room for begins the body. */
function subjectAndRest(text: string): [subject: string, rest: string] {
  const subject = shortened(text, SUBJECT_ROOM);
  return subject === text ? [text, ''] : [subject, `…${text.slice(subject.length - 1).trimStart()}`];
}

const SUBJECT_ROOM = 72;

/** Of a local issue without `#`: pushed to GitHub, that would link another issue there. */
const issueIn = (forge: string, issue: number): string =>
  forge === 'local' ? `${issue} (.forge/issues)` : `#${issue}`;

/** A stranger's title on a commit of trunk: it closes no other issue, calls nobody and switches no CI off. */
const subject = ({ contract }: Task): string =>
  inert(oneLine(contract.title)).replace(/\[(skip ci|ci skip|no ci|skip actions|actions skip)\]/gi, '($1)');

export function checkpointMessage(task: Task): string {
  // Without `#`: it may reach trunk, and of the local forge it would link another issue on GitHub.
  return shortened(`Save work on ${subjectOf(task).replace('#', '')}, turn ${task.turns}`, SUBJECT_ROOM);
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

export function couldNotRunComment(issue: number, gate: Evidence): string {
  const broken = couldNotRun(gate);
  const said = tellingLines(broken?.tail ?? '');
  return [
    `Waiting for a person: the gate could not run, so nothing was judged. ${brokenText(gate)}${said ? ':' : '.'}`,
    ...(said ? ['', ...said.split(' · ').map((line) => `    ${line}`)] : []),
    ...(broken?.logPath ? ['', `Its output is in \`${broken.logPath}\`.`] : []),
    '',
    `This is not counted against the change. Fix the command or its environment (see \`env\` in WORKFLOW.md), then \`forge-loop resume ${issue}\`.`,
  ].join('\n');
}

export function redBeforeComment(task: Task): string {
  return [
    `Waiting for a person: ${redBeforeText(task)}, and still is. The coder was told and did not change it.`,
    '',
    ['Fix trunk: the work then continues on the new trunk.', ...otherAdvice(task)].join(' '),
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
    `${findingText(finding)}${repeats ? `\n  Repeats ${oneLine(repeats)}` : ''}`;
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
    lines.push('', 'To get this approved:', ...report.minimalPathToGreen.map((step) => `- ${oneLine(step)}`));
  if (task.contract.criteria.length > 0) lines.push('', criteriaTable({ ...task, verdict: judged }));
  const further = judged.criteria.filter(({ id }) => id === null);
  if (further.length > 0) lines.push('', ...further.map(judgementText));
  if (report.specDefects.length > 0)
    lines.push('', 'Problems in the issue:', ...report.specDefects.map((defect) => `- ${oneLine(defect)}`));
  return lines.join('\n');
}

const saidOtherwise = (said: Verdict): string =>
  said === 'APPROVE'
    ? 'The critic said APPROVE, but its own findings (or open ones) block the merge, so this counts as REQUEST_CHANGES.'
    : `The critic said ${said}, but everything it asks for is marked wontfix.`;

/** The answer to a remark that the coder has addressed, or has read without changing the head. */
export function addressedText(headSha: string, changed: boolean): string {
  const head = shortSha(headSha);
  return changed ? `Addressed in \`${head}\`.` : `Seen; no change made. Head is still \`${head}\`.`;
}

export function budgetComment(says: string): string {
  return `Budget nearly spent: ${says}. The task ends at the limit; to allow more, raise \`budget\` in WORKFLOW.md.`;
}
