/** The answer of each operation, for people. */

import { turnName } from '../core/role.ts';
import { conditionLines, decisionLine } from '../core/words/conditions.ts';
import { shortSha } from '../core/words/short-sha.ts';
import { clock } from '../core/words/wall-time.ts';
import { count, lasting, lostWorkText } from '../core/words/words.ts';
import type { FindingDecided } from '../operations/findings.ts';
import type { IssueDetail, IssueView } from '../operations/issues.ts';
import type { LoopAnswer } from '../operations/loop.ts';
import type { Asked } from '../operations/tasks.ts';
import type { OperationName, Result } from '../operations.ts';
import type { TaskView } from '../view.ts';
import { aligned, COST_HEADS, costCells, costText } from './cost-text.ts';
import { previewText } from './dry-run.ts';
import { frontierText } from './frontier-text.ts';
import { cut, table, tableWithout, wrapped, wrappedTable } from './layout.ts';
import { logsText } from './logs.ts';
import { loopsText, loopText } from './loop-text.ts';
import { changeText, logText, morningText } from './morning-text.ts';
import {
  editedPlanText,
  lintedPlanText,
  newPlanText,
  plansText,
  planText,
  problemLines,
  sourceText,
} from './plan-text.ts';
import { pullsText, pullText } from './pull-text.ts';
import { replayedText, verifiedText } from './replay.ts';
import { reportText } from './report/text.ts';
import { statusText, tasksText, whyText } from './status.ts';
import type { Terminal } from './terminal.ts';

type Texts = { [N in OperationName]: (result: Result<N>, terminal: Terminal) => string };

export const TEXT: Texts = {
  status: statusText,

  why({ loop, issues }, { paint, columns }) {
    const lines = issues.map((line) => [
      paint.bold(line.name),
      `${line.title ? `${line.title}${paint.dim(':')} ` : ''}${line.why}${line.until ? paint.dim(` (until ${clock(line.until)})`) : ''}`,
    ]);
    return [
      ...loop.map((reason) => wrapped(`${paint.yellow('loop')}  ${reason}`, columns, 6)),
      ...(lines.length ? [wrappedTable(lines, columns)] : []),
    ].join('\n');
  },

  morning: morningText,
  'run.preview': previewText,

  'task.list': (tasks, terminal) =>
    tasks.length === 0
      ? 'No task is in flight. `forge-loop task list --all` shows ended ones.'
      : tasksText(tasks, terminal),

  'task.show'(task, { paint, columns }) {
    const facts: [string, string | null][] = [
      ['task', `${task.id} (attempt ${task.attempt})`],
      ['state', stateText(task)],
      ['why', task.hold?.text ?? null],
      ['what to do', task.advice],
      ['specification', specText(task)],
      ['turns', `${task.turns} of ${task.maxTurns}, ${count(task.criticRounds, 'critic round')}`],
      ['session', task.sessionId],
      ['spent', spentText(task)],
      ['branch', `${task.branch}${task.headSha ? ` at ${shortSha(task.headSha)}` : ''}`],
      ['pull request', task.pull === null ? null : `#${task.pull}`],
      ['merged as', task.mergedSha && shortSha(task.mergedSha)],
      ['worktree', task.workspace],
      ['logs', task.logs],
      ['pending', task.pending.map((one) => one.action).join(', ') || null],
      ['asked', task.requests.map((one) => `${one.kind} by ${one.by}`).join(', ') || null],
    ];
    const turns = task.turnsTaken.map((turn) => [
      '',
      turnName(turn),
      turn.prompt,
      turn.status ?? 'running',
      clock(turn.startedAt),
      turn.sessionId.slice(0, 8),
      ...costCells(turn.cost),
    ]);
    const turnHeads = ['', 'turn', 'prompt', 'status', 'started', 'session', ...COST_HEADS].map(paint.dim);
    const rounds = task.rounds.map((line) => ['', line.key, `${line.turns}`, ...costCells(line)]);
    const roundHeads = ['', 'round', 'turns', ...COST_HEADS].map(paint.dim);
    const warnings = task.turnsTaken.flatMap((turn) => turn.warnings);
    const criteria = task.criteria.map(({ id, met, text, evidence }) => [
      '',
      id,
      met ?? 'not judged',
      evidence === '' ? text : `${text} ${paint.dim(`(${evidence})`)}`,
    ]);
    const findings = task.findings.map((finding) => [
      '',
      finding.id,
      finding.status,
      finding.severity,
      placeOf(finding),
      finding.message,
    ]);
    return [
      paint.bold(`${task.name} ${task.title}`),
      wrappedTable(
        facts.filter(([, value]) => value).map(([name, value]) => [paint.dim(name), value!]),
        columns,
      ),
      ...(turns.length
        ? [
            tableWithout(aligned([turnHeads, ...turns], 6, 10), columns, [5, 2, 4]),
            table(aligned([roundHeads, ...rounds], 2, 7), columns),
          ]
        : []),
      ...warnings.map(({ text }) => wrapped(`${paint.yellow('!')} ${text}`, columns, 2)),
      ...(criteria.length ? [paint.dim('criteria'), wrappedTable(criteria, columns)] : []),
      ...(findings.length ? [paint.dim('findings'), wrappedTable(findings, columns)] : []),
      ...(task.network ? [paint.dim('network'), networkText(task.network, paint)] : []),
      ...(task.merge
        ? [
            paint.dim(`at ${clock(task.merge.at)}`),
            decisionLine(task.merge, paint),
            ...conditionLines(task.merge, paint).map((line) => `  ${line}`),
          ]
        : []),
    ].join('\n');
  },

  'task.export': (exported) => JSON.stringify(exported, null, 2),
  'task.change': changeText,
  'task.log': logText,
  'task.cancel': askedText,
  'task.abandon': askedText,
  'task.approve': askedText,
  'task.tell': askedText,
  'task.retry': ({ issue, attempt, runnerAlive }) =>
    `#${issue} is ready again: attempt ${attempt} ${startsText(runnerAlive)}`,
  'task.retry_all': ({ reason, preview, issues, runnerAlive }) =>
    issues.length === 0
      ? `No open issue has a last attempt that ended with ${reason}.`
      : [
          ...issues.map(
            ({ issue, title, attempt, why }) => `#${issue} ${title}: attempt ${attempt} (${why})`,
          ),
          preview
            ? `${issues.length} to be marked ready again.`
            : `${issues.length} ready again; each ${startsText(runnerAlive)}`,
        ].join('\n'),
  attach: ({
    name,
    state,
    how,
    detail,
    durationMs,
    tokens,
    costUsd,
    headBefore,
    head,
    changed,
    paused,
    runnerAlive,
  }) =>
    [
      `Left ${name} after ${lasting(durationMs)}${how === 'cut_off' ? ` (${detail})` : ''}: ${
        head === null
          ? 'what you changed is saved by the next run'
          : changed
            ? `the head is now ${shortSha(head)} (was ${shortSha(headBefore, 'none')}) and will be verified and judged`
            : 'nothing changed'
      }.`,
      ...(tokens > 0
        ? [`Used: ${tokens} tokens, ${costUsd === null ? 'cost unknown' : `$${costUsd.toFixed(2)}`}.`]
        : []),
      paused
        ? `It stays paused: \`forge-loop resume ${name.replace(/^#/, '')}\` continues it.`
        : `It continues (${state})${runnerAlive ? '' : ' with the next `forge-loop run`'}.`,
    ].join('\n'),
  'task.restart': ({ task, issue, from, rebuiltAt, runnerAlive }) =>
    `Task ${task}${issue === null ? '' : ` (#${issue})`} is queued again (it was ${from}); it ${startsText(runnerAlive)}${
      rebuiltAt === null ? '' : `\n${lostWorkText(rebuiltAt)}`
    }`,

  'loop.start': startedText,
  'loop.start_each': ({ loops, warnings, runnerAlive }) =>
    [
      ...warnings.map((one) => `warning: ${one}`),
      ...loops.map(
        ({ name, task, already, after }) =>
          `${name} (task ${task})${already ? ', started before' : ''}${after.length > 0 ? `, after ${after.join(', ')}` : ''}`,
      ),
      `${count(loops.length, 'loop')}; each ${startsText(runnerAlive)}`,
    ].join('\n'),
  'loop.list': loopsText,
  'loop.show': loopText,
  'loop.milestone': ({ number, of, title, text, done, attempts }) =>
    [
      `Milestone ${number} of ${of}: ${title}`,
      done
        ? `Done${done.commit ? ` in ${shortSha(done.commit)}` : ', without a change'}. ${done.done}`.trim()
        : `Not done; ${count(attempts, 'dirty audit')}.`,
      ...(done?.deviations.map((one) => `Deviation: ${one}`) ?? []),
      ...(done?.followUps.map((one) => `Follow-up: ${one}`) ?? []),
      '',
      text,
    ].join('\n'),
  'loop.cancel': ({ name, already, reaped, pending, kept }) =>
    pending
      ? `Requested to cancel loop ${name}; the next \`forge-loop run\` applies it.${
          kept
            ? `\nIts worktree ${kept} stays until then. When it has ended, \`forge-loop loop cancel ${name} --cleanup-worktree\` removes it.`
            : ''
        }`
      : `${already ? `Loop ${name} had ended before.` : `Loop ${name} is cancelled; \`forge-loop loop restart ${name}\` continues it.`}${
          reaped ? ` Removed ${reaped}; its branch stays.` : ''
        }`,
  'loop.restart': ({ name, place, from, rebuiltAt, runnerAlive }) =>
    `Loop ${name} is queued again (it was ${from}); it ${startsText(runnerAlive)}\nNext: ${place}.${
      rebuiltAt === null ? '' : `\n${lostWorkText(rebuiltAt)}`
    }`,
  'loop.sweep': (swept) =>
    swept.length === 0
      ? 'Nothing to sweep.'
      : swept
          .map(({ name, removed, problem }) =>
            problem
              ? `${name}: ${problem}`
              : `${name}: removed its ${removed.join(' and ')}; its branch stays`,
          )
          .join('\n'),

  'issue.new': (issue) =>
    `#${issue.number} ${issue.title}${issue.labels.length ? ` [${issue.labels.join(', ')}]` : ''}`,
  'issue.import': (issues, { paint }) =>
    issues
      .map(({ file, number, title, decision }) => {
        const doubt =
          decision === 'ready' ? '' : paint.yellow(` (${decision}: forge-loop issue lint ${number})`);
        return `${paint.bold(`#${number}`)} ${title} ${paint.dim(`from ${file}`)}${doubt}`;
      })
      .join('\n'),
  'issue.list': issuesText,
  'issue.show': issueText,
  'issue.lint': lintText,
  'issue.ready': ({ number, reopened }) =>
    `#${number} ${reopened ? 'was closed; it is open again and ready' : 'is ready'}: its text as it is now is the contract.`,
  'issue.close': (issue) => `#${issue.number} is closed.`,
  'issue.comment': (issue) => `Commented on #${issue.number}.`,

  'plan.new': newPlanText,
  'plan.lint': lintedPlanText,
  'frontier.show': frontierText,
  'frontier.edit': frontierText,
  'plan.draft': ({ task, issue, already, runnerAlive }) =>
    already
      ? `The plan for #${issue} is being drafted already (task ${task}).`
      : `A plan for #${issue} will be drafted (task ${task}); it ${startsText(runnerAlive)}\nSee \`forge-loop plan list\` when it is done.`,
  'plan.list': plansText,
  'plan.show': planText,
  'plan.edit': editedPlanText,
  'plan.approve': ({ plan, already, started }) =>
    [
      `Plan ${plan.name} (${plan.id}) ${already ? 'was approved before' : 'is approved'}.`,
      started ? startedText(started) : `Start it with \`forge-loop loop start --plan ${plan.id}\`.`,
    ].join('\n'),

  'pull.list': pullsText,
  'pull.show': pullText,
  'pull.comment': (pull) => `Commented on pull request #${pull.number}; the coder will be told.`,
  'pull.review': (pull) => {
    const said = pull.remarks.at(-1);
    return said?.verdict === 'approve'
      ? `Approved pull request #${pull.number} at ${shortSha(pull.headSha)}.`
      : `Requested changes to pull request #${pull.number}; the coder will be told.`;
  },
  'pull.check': (pull) => `Recorded for pull request #${pull.number} at ${shortSha(pull.headSha)}.`,

  'findings.list': (findings, { paint, columns }) =>
    findings.length === 0
      ? 'No findings.'
      : table(
          findings.map((finding) => [
            paint.bold(finding.id),
            finding.issue === null ? '' : `#${finding.issue}`,
            finding.status,
            finding.severity,
            finding.source,
            placeOf(finding),
            finding.message,
          ]),
          columns,
        ),
  'findings.write': ({ name, finding, runnerAlive }) =>
    finding === null
      ? `The finding is added to ${name} ${runnerAlive ? 'within a second.' : 'by the next `forge-loop run`.'}`
      : `Finding ${finding} is open. ${name} has ended; \`forge-loop loop restart ${name}\` continues it.`,
  'findings.resolve': decidedText,
  'findings.wontfix': decidedText,
  'findings.reopen': decidedText,

  cost: costText,
  report: reportText,
  events: (events) => events.map((event) => JSON.stringify(event)).join('\n'),

  boot(boot, terminal) {
    const { paint } = terminal;
    const part = (title: string, text: string) => `${paint.bold(title)}\n${text}`;
    return [
      part('Direction', boot.direction?.trim() || paint.dim('none: .forge/frontier.yaml is not there')),
      part('In flight', boot.tasks.length ? tasksText(boot.tasks, terminal) : paint.dim('nothing')),
      part(
        'Stale leases',
        boot.stale.length
          ? `${boot.stale.map(({ key, owner }) => `${key} of ${owner}`).join('\n')}\n${paint.cyan('forge-loop recover')} takes them over, and so does the next run.`
          : paint.dim('none'),
      ),
      part(
        'Last events',
        boot.events.length
          ? table(
              boot.events.map((one) => [paint.dim(`${one.seq}`), clock(one.at), one.task ?? '-', one.type]),
            )
          : paint.dim('none'),
      ),
    ].join('\n\n');
  },

  'notify.test': ({ channels }, { paint }) =>
    channels
      .map(({ channel, kind, problem, isQuiet }) =>
        problem === null
          ? `${paint.green('sent')}    ${channel} (${kind})${isQuiet ? ': it has quiet hours now, and would wait' : ''}`
          : `${paint.red('failed')}  ${channel} (${kind}): ${problem}`,
      )
      .join('\n'),
  backup: ({ path, events, bytes }) =>
    `Backed up to ${path}: ${events} events, ${Math.ceil(bytes / 1024)} kB, integrity checked. Put it back with \`forge-loop restore\`.`,
  restore: ({ path, events, aside }) =>
    [
      events === 0 ? `${path} is empty: the loop starts over.` : `${path} ends with event ${events}.`,
      ...(aside === null ? [] : [`What it replaced is kept: ${aside}`]),
    ].join('\n'),

  recover({ tasks, processes, workspaces }) {
    const lines = [
      ...tasks.map((one) => `task ${one.task} (${one.name}, ${one.state}): ${one.plan.replaceAll('_', ' ')}`),
      ...processes.map((pid) => `stopped process ${pid} of a dead runner`),
      ...workspaces.map((one) => `${one.done} ${one.path}: ${one.why}`),
    ];
    return lines.join('\n') || 'Nothing to recover.';
  },

  doctor: diagnosisText,
  access: accessText,
  attack: diagnosisText,
  'gate.try': diagnosisText,

  brief: ({ prompt }) => prompt.trimEnd(),

  config({ path, problem, warnings, keys }, { paint, columns }) {
    const rows = keys
      .filter(({ key }) => key !== 'body' && !key.startsWith('prompts.'))
      .map(({ key, value, origin }) => [
        origin === 'file' ? paint.bold(key) : key,
        origin === 'file' ? paint.cyan('file') : paint.dim('default'),
        JSON.stringify(value),
      ]);
    return [
      paint.dim(path),
      ...(problem ? [`${paint.red('broken:')} ${problem}`, 'These are the defaults:'] : []),
      ...warnings.map(({ message }) => `${paint.yellow('warn')} ${message}`),
      table(rows, columns),
    ].join('\n');
  },

  gc: ({ dryRun, removed, trees, logs }) => {
    const ofTasks = removed.map(({ task, issue, parts }) => {
      const what = parts.map((part) => (part === 'private' ? 'homes and sessions' : 'logs')).join(', ');
      return `${what} of ${issue === null ? task : `${task} (#${issue})`}`;
    });
    const gone = [...ofTasks, ...trees, ...logs];
    if (gone.length === 0) return 'Nothing to remove.';
    return [
      ...gone.map((one) => `${dryRun ? 'would remove' : 'removed'} ${one}`),
      ...(dryRun ? ['Nothing was removed. `forge-loop gc` removes it.'] : []),
    ].join('\n');
  },
  refresh: ({ runnerAlive }) =>
    runnerAlive ? 'The runner looks at the forge now.' : 'No runner is alive: `forge-loop run` starts one.',
  pause: (answer) =>
    'asked' in answer
      ? askedText(answer)
      : `Paused: nothing new is started. Running turns finish. \`forge-loop resume\` continues.`,
  resume: (answer) =>
    'asked' in answer
      ? askedText(answer)
      : [
          `The loop continues${answer.deployAgain ? ', and the deploy is tried again' : ''}${runnerText(answer)}.`,
          ...endedText(answer),
          ...('released' in answer ? releasedText(answer) : []),
        ].join('\n'),
  stop: (answer) => {
    if (!answer.runnerAlive) return 'No runner is running.';
    const { atWork } = answer;
    if (answer.stopRequested === 'now')
      return atWork.length > 0
        ? `Stopping now. Interrupted: ${atWork.join(', ')}. The next run continues ${atWork.length === 1 ? 'it' : 'them'}.`
        : 'Stopping now. Nothing was running.';
    return atWork.length > 0
      ? `Stopping when this has finished: ${atWork.join(', ')}. \`forge-loop stop --now\` does not wait.`
      : 'Stopping. Nothing is running.';
  },

  logs: logsText,
  replay: replayedText,
  'replay.file': replayedText,
  'replay.verify': verifiedText,
  uninstall: uninstalledText,

  'service.install': ({ file, environment, next }, { paint, columns }) =>
    [
      `Wrote ${file}.`,
      wrapped(
        `Variables that the loop or its agents need, such as ANTHROPIC_API_KEY, go into ${environment}, one NAME=value a line, readable by you alone.`,
        columns,
      ),
      '',
      paint.bold('Next:'),
      ...next.map((command) => `  ${command}`),
    ].join('\n'),

  'service.remove': ({ file, next }, { paint }) =>
    [`Removed ${file}.`, '', paint.bold('Next:'), ...next.map((command) => `  ${command}`)].join('\n'),

  init: ({ workflow, written, gate, tracker, trunk, labels, problems, mcp, next }, { paint, columns }) =>
    [
      written ? `Wrote ${workflow}.` : `${workflow} already exists; it was left unchanged.`,
      ...(written ? gateLines(gate, paint, columns) : []),
      ...(written && trunk !== null ? [`Work starts from and lands on ${trunk} (tracker.trunk).`] : []),
      ...(written && trunk === null
        ? [`${paint.yellow('!')} HEAD is detached: name the branch that work lands on as tracker.trunk.`]
        : []),
      ...(written ? [wrapped(WHERE[tracker], columns)] : []),
      ...(labels.length > 0 ? [`Labels made: ${labels.join(', ')}`] : []),
      ...problems.map(({ what, fix }) => `${paint.yellow('!')} ${what}${fix ? ` ${fix}` : ''}`),
      ...mcp.map(({ client, done, says }) => wrapped(`${MCP[done](client, paint)}: ${says}`, columns, 2)),
      '',
      paint.bold('Next:'),
      ...next.map((step) => wrapped(`  ${step}`, columns, 2)),
    ].join('\n'),
};

function uninstalledText(
  { removed, folders, branches, refs, exclude, left }: Result<'uninstall'>,
  { paint, columns }: Terminal,
): string {
  const rows = [
    ...folders.map(({ path, what }) => [path, what]),
    ...branches.map(({ name, isLanded }) => [
      `branch ${name}`,
      isLanded ? 'landed' : paint.yellow('has work that is not on your branch'),
    ]),
    ...(refs > 0 ? [[`${count(refs, 'ref')} below refs/forge`, 'commits of its tasks']] : []),
    ...(exclude === null ? [] : [[exclude, 'the line that hides .forge/']]),
  ];
  if (rows.length === 0) return 'forge-loop keeps nothing here.';
  return [
    removed ? 'Removed:' : 'Would be removed, for good:',
    wrappedTable(
      rows.map(([what = '', why = '']) => [`  ${what}`, why]),
      columns,
    ),
    wrapped(`${removed ? 'Left' : 'Would be left'} as it is: ${left.join('; ')}.`, columns),
    ...(removed
      ? []
      : ['', wrapped('Nothing was removed. `forge-loop uninstall --yes` removes it.', columns)]),
  ].join('\n');
}

function gateLines(
  { setup, commands, from, leftOut }: Result<'init'>['gate'],
  paint: Terminal['paint'],
  columns: number | null,
): string[] {
  return [
    ...(from.length > 0
      ? [wrapped(`Gate, from ${from.join(', ')}: ${[...setup, ...commands].join('; ')}`, columns, 2)]
      : []),
    ...leftOut.flatMap(({ command, why, output }) => [
      wrapped(`${paint.yellow('!')} Left out: ${command} (${why})`, columns, 2),
      ...output.map((line) => paint.dim(`    ${columns === null ? line : cut(line, columns - 4)}`)),
    ]),
  ];
}

type Registered = Result<'init'>['mcp'][number];

const MCP: Record<Registered['done'], (client: string, paint: Terminal['paint']) => string> = {
  added: (client) => `MCP server registered with ${client}`,
  there: (client) => `${client} has an MCP server of that name already`,
  failed: (client, paint) => `${paint.yellow('!')} MCP server not registered with ${client}`,
};

const WHERE = {
  github: 'Issues and pull requests are on GitHub.',
  local:
    'Issues and pull requests are in this repository, under .forge/. Nothing is ever fetched or pushed: to share what lands, push it yourself.',
};

function endedText({ ended, trunk }: Extract<Result<'resume'>, { ended: unknown }>): string[] {
  if (ended.length === 0) return [];
  const lands = trunk ? ` Work now lands on ${trunk.is} (was ${trunk.was}).` : '';
  return [`Released: ${ended.join(', ')}.${lands}`];
}

function releasedText({ released, left }: Extract<Result<'resume'>, { released: unknown }>): string[] {
  const name = ({ task, issue }: { task: string; issue: number | null }): string =>
    issue === null ? task : `#${issue}`;
  return [
    released.length > 0
      ? `Released: ${released.map((one) => `${name(one)} (${one.reason})`).join(', ')}.`
      : 'No held task can be released by resume alone.',
    ...left.map((one) => `${name(one)} stays ${one.text}`),
  ];
}

function decidedText({ finding, status, done, runnerAlive }: FindingDecided): string {
  const stands = { open: 'is open again', wontfix: 'stays as it is (wontfix)', resolved: 'is fixed' };
  const what = `Finding ${finding} ${stands[status]}`;
  if (done) return `${what}. Its task has ended; \`forge-loop task restart\` continues it.`;
  return `${what} ${runnerAlive ? 'within a second.' : 'from the next `forge-loop run` on.'}`;
}

const placeOf = ({ file, line }: { file: string | null; line: number | null }): string =>
  `${file ?? ''}${line ? `:${line}` : ''}`;

function startedText(started: Result<'loop.start'>): string {
  const { name, task, plan, milestones, branch, delivers, already, warnings, runnerAlive } = started;
  return [
    ...warnings.map((one) => `warning: ${one}`),
    ...(plan ? [`Plan ${plan.name} (${plan.id}), ${sourceText(plan)}.`] : []),
    already
      ? `The same plan was started before: ${name} (task ${task}).`
      : `Loop ${name} is queued: ${milestones === 0 ? 'no milestones' : count(milestones, 'milestone')}, delivers ${delivers === 'pull' ? 'a pull request' : `branch ${branch}`} (task ${task}).`,
    already ? '' : `It ${startsText(runnerAlive)}`,
    `See \`forge-loop loop status ${name}\`.`,
  ]
    .filter(Boolean)
    .join('\n');
}

function askedText({ asked, task, issue, runnerAlive }: Asked): string {
  const what = `${asked[0]!.toUpperCase()}${asked.slice(1)} requested for task ${task}${issue === null ? '' : ` (#${issue})`}`;
  return runnerAlive
    ? `${what}; the runner applies it within a second.`
    : `${what}; no runner is running, so the next \`forge-loop run\` applies it.`;
}

const startsText = (alive: boolean): string =>
  alive ? 'starts when a slot is free.' : 'starts with the next `forge-loop run`.';

const runnerText = ({ runnerAlive }: LoopAnswer): string =>
  runnerAlive ? '' : '; no runner is running: `forge-loop run`';

function issuesText(issues: readonly IssueView[], { paint, columns }: Terminal): string {
  if (issues.length === 0) return 'No open issues. `forge-loop issue new --title … --ready` writes one.';
  return table(
    issues.map((issue) => [
      paint.bold(`#${issue.number}`),
      issue.state,
      issue.priority === null ? '' : `p${issue.priority}`,
      paint.cyan(issue.labels.join(', ')),
      issue.title,
    ]),
    columns,
  );
}

function issueText(issue: IssueDetail, { paint }: Terminal): string {
  const facts = [issue.state, ...issue.labels];
  if (issue.priority !== null) facts.push(`priority ${issue.priority}`);
  const blockers = [...issue.blockedBy.map((one) => `#${one}`), ...issue.blockedElsewhere];
  if (blockers.length > 0) facts.push(`blocked by ${blockers.join(', ')}`);
  return [
    paint.bold(`#${issue.number} ${issue.title}`),
    paint.dim(facts.join(' · ')),
    '',
    issue.body.trim(),
    ...issue.comments.flatMap(({ by, at, text }) => ['', paint.dim(`${by}, ${at}`), text.trim()]),
  ].join('\n');
}

function lintText(lint: Result<'issue.lint'>, { paint, columns }: Terminal): string {
  const colour = { ready: paint.green, unsure: paint.yellow, declined: paint.red }[lint.decision];
  const rules = lint.rules.map(({ rule, points, because }) => [
    '',
    points > 0 ? paint.green(`+${points}`) : paint.red(`${points}`),
    rule.replaceAll('_', ' '),
    paint.dim(because),
  ]);
  return [
    `${colour(lint.decision)} ${paint.bold(`${lint.issue === null ? '' : `#${lint.issue} `}${lint.title}`)}`,
    lint.plan && lint.decision === 'ready'
      ? `It is a plan: ${lint.plan.milestones === 0 ? 'no milestones' : count(lint.plan.milestones, 'milestone')}.`
      : lint.decision !== 'ready'
        ? `${lint.problem[0]!.toUpperCase()}${lint.problem.slice(1)}.`
        : lint.thin
          ? 'Ready, but it does not say what the result should look like.'
          : 'Ready: it says how to tell when it is done.',
    ...(lint.plan && lint.decision === 'ready'
      ? lint.plan.problems.flatMap((one) => problemLines(null, one, paint))
      : []),
    ...(rules.length > 0 ? [paint.dim(`points: ${lint.score}`), wrappedTable(rules, columns)] : []),
    ...(lint.questions.length > 0
      ? [
          paint.dim('questions for its author'),
          ...lint.questions.map((question) => wrapped(`  - ${question}`, columns, 4)),
        ]
      : []),
  ].join('\n');
}

function stateText(task: TaskView): string {
  const { state, reason, why, hold, endedAt } = task;
  if (endedAt !== null) return `${state}${reason ? ` (${reason})` : ''}: ${why}`;
  return hold ? `${state}, held` : `${state}: ${whyText(task)}`;
}

function specText({ spec }: TaskView): string | null {
  if (spec === null) return null;
  if (spec.status === 'taken') return 'the issue as it stands';
  if (spec.status === 'declined') return `declined, asks: ${spec.questions.join(' ')}`;
  const by = spec.by === null ? '' : ` by ${spec.by}`;
  return `${spec.status}${by}, ${spec.criteria} criteria: ${spec.problem}`;
}

function spentText({ costUsd, tokens, spendComplete }: TaskView): string {
  if (costUsd === null && tokens === null) return 'unknown';
  const least = spendComplete ? '' : 'at least ';
  const cost = costUsd === null ? 'cost unknown' : `$${costUsd.toFixed(2)}`;
  return `${least}${cost}, ${tokens ?? 'unknown'} tokens`;
}

function diagnosisText({ checks, failed, warned }: Result<'doctor'>, { paint, columns }: Terminal): string {
  const mark = { ok: paint.green('ok'), warn: paint.yellow('warn'), fail: paint.red('fail') };
  const rows = checks.flatMap((check) => [
    [mark[check.level], paint.bold(check.name), check.what],
    ...(check.fix && check.level !== 'ok' ? [['', '', paint.cyan(`→ ${check.fix}`)]] : []),
  ]);
  const sum = failed > 0 ? paint.red(`${failed} failed`) : paint.green('nothing failed');
  return `${wrappedTable(rows, columns)}\n\n${sum}, ${count(warned, 'warning')}`;
}

function accessText(
  {
    who,
    agent,
    sandbox,
    why,
    files,
    network,
    credentials,
    secrets,
    mcp,
    environment,
    tools,
  }: Result<'access'>,
  { paint, columns }: Terminal,
): string {
  const list = (items: readonly string[]): string => items.join('\n') || 'nothing';
  const asksModel = credentials !== null && credentials !== 'none';
  const where =
    network === 'host'
      ? paint.yellow('whatever this machine can reach')
      : network === 'any'
        ? 'any public host'
        : [...(asksModel ? ['its model'] : []), ...network].join('\n') || 'nowhere';
  const words = (names: readonly string[]): string | null => names.join(' ') || null;
  const rows: [string, string | null][] = [
    ['confined by', sandbox === 'none' ? paint.yellow(`nothing${why === null ? '' : `: ${why}`}`) : sandbox],
    ['may touch', files ? null : paint.yellow('whatever your user can')],
    ['may write', files && list(files.write)],
    ['in memory', files && list(files.memory)],
    ['may read', files && list(files.read)],
    ['hidden', files && list(files.hidden)],
    ['may reach', where],
    ['holds', credentials && (credentials === 'agent' ? paint.yellow(HOLDS.agent) : HOLDS[credentials])],
    ['may use', words(secrets)],
    ['MCP servers', words(mcp)],
    ['tools of ours', words(tools)],
    ['environment', words(environment)],
  ];
  const head = paint.bold(agent === null ? who : `${who}: ${agent}`);
  const lines = rows.flatMap(([name, value]) =>
    (value?.split('\n') ?? []).map((line, index) => ['', index === 0 ? name : '', line]),
  );
  return `${head}\n${wrappedTable(lines, columns)}`;
}

const HOLDS: Record<NonNullable<Result<'access'>['credentials']>, string> = {
  gateway: 'a placeholder: the gateway has its credential',
  agent: 'its credential itself',
  none: 'no credential of ours',
  unknown: 'nobody can tell: is it signed in?',
};

function networkText(rows: NonNullable<Result<'task.show'>['network']>, paint: Terminal['paint']): string {
  if (rows.length === 0) return '  nothing went through the gateway but calls of its model';
  return table(
    rows.map(({ at, by, host, port, verdict, times, sentBytes, receivedBytes }) => [
      '',
      clock(at),
      verdict === 'allowed' ? verdict : paint.yellow(verdict),
      `${host}:${port}`,
      `${times}×`,
      `${sentBytes} B out, ${receivedBytes} B in`,
      paint.dim(by),
    ]),
  );
}
