/** What we say on issues and pull requests, and in commit messages. */

import { shapedLikeSecrets } from '../change/danger.ts';
import { type Finding, leftAsIs } from '../change/findings.ts';
import type { Facts } from '../decision.ts';
import type { CoderSummary } from '../event.ts';
import type { Evidence } from '../gate.ts';
import { type Specification, specificationText } from '../issue/specification.ts';
import { REASONS } from '../machine.ts';
import type { Policy } from '../policy.ts';
import { isByPerson, nameOfTask, type RecordedVerdict, type Task, turnsHere } from '../task.ts';
import type { CriticReport, Verdict } from '../verdict.ts';
import { findingText } from './feedback-text.ts';
import { oneLine, unfenced } from './fence.ts';
import { resultText } from './gate-text.ts';
import { shortSha } from './short-sha.ts';
import {
  adviceText,
  capital,
  couldNotRunText,
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
    `**${statusText(task)}**`,
    '',
    `- attempt ${task.attempt}, task \`${task.id}\``,
    `- ${count(turnsHere(task), 'turn')} of at most ${policy.maxTurns}, ${count(task.criticRounds, 'critic round')}${judged}`,
    `- cost: ${costText(spend)}`,
    `- branch \`${task.branch}\`${pull === null ? '' : `, pull request #${pull}`}`,
  ].join('\n');
}

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
  return `The text was edited after this issue was made ready, so \`${readyLabel}\` no longer says that somebody agreed to it. Is the new text what you want? Then label it \`${readyLabel}\` again.`;
}

export function editedComment(task: Task, readyLabel: string): string {
  const kept = task.pull === null ? '' : ` The work so far is in pull request #${task.pull}.`;
  return `The text was edited while the loop was at work, so nothing is merged until somebody agrees to the new one.${kept} Label it \`${readyLabel}\` again to continue with the text as it is then.`;
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
    ...(left.length > 0 ? ['', 'Found, and left as it is:', '', ...left.map(leftText)] : []),
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
    task.issue === null ? `Carries out the ${subjectOf(task)}.` : `Fixes #${task.issue}`,
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
    "The coder's own summary (not used as evidence):",
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
function criteriaTable({ id: task, contract, verdict, gate }: Task): string {
  const said = verdict
    ? [`Judged by ${inert(verdict.by)} at \`${shortSha(verdict.headSha)}\`, round ${verdict.round}:`]
    : ['Not judged yet.'];
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
  return [...said, '', table(['', 'criterion', 'met', 'evidence', 'verify'], rows)].join('\n');
}

export function mergeMessage(task: Task, policy: Policy, forge: string): string {
  const trailer = policy.coAuthor ? `\n\nCo-authored-by: ${policy.coAuthor}` : '';
  const source =
    task.issue === null
      ? `${capital(task.kind)}: ${nameOfTask(task)}`
      : `Issue: ${issueIn(forge, task.issue)}`;
  return `${subject(task)}\n\n${source}\nTask: ${task.id}${trailer}\n`;
}

/** Of a local issue without `#`: pushed to GitHub, that would link another issue there. */
const issueIn = (forge: string, issue: number): string =>
  forge === 'local' ? `${issue} (.forge/issues)` : `#${issue}`;

/** A stranger's title on a commit of trunk: it closes no other issue, calls nobody and switches no CI off. */
const subject = ({ contract }: Task): string =>
  inert(oneLine(contract.title)).replace(/\[(skip ci|ci skip|no ci|skip actions|actions skip)\]/gi, '($1)');

export function checkpointMessage(task: Task): string {
  return `Checkpoint of ${nameOfTask(task)} after turn ${task.turns}`;
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
  const log = gate.results.find((result) => result.outcome === 'could_not_run')?.logPath;
  return [
    `Waiting for a person: the gate could not run, so nothing was judged. ${couldNotRunText(gate)}.`,
    ...(log ? ['', `Its output is in \`${log}\`.`] : []),
    '',
    `The work is not blamed. Fix the command or its environment (\`env\` in WORKFLOW.md lists what commands get from yours), then \`forge-loop resume ${issue}\`.`,
  ].join('\n');
}

export function redBeforeComment(task: Task): string {
  return [
    `Waiting for a person: ${redBeforeText(task)}, and still is. The coder was told and left it.`,
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

/** The answer to a remark that the coder has worked in, or has read and left the head as it is. */
export function addressedText(headSha: string, changed: boolean): string {
  const sha = shortSha(headSha);
  return changed ? `Addressed in \`${sha}\`.` : `Seen; no change made. Head is still \`${sha}\`.`;
}

export function budgetComment(says: string): string {
  return `Soon out of budget: ${says}. At the limit the task ends; raise \`budget\` in WORKFLOW.md if it is worth more.`;
}
