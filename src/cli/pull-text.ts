/** Pull requests, for people. */

import { shortSha } from '../core/words/short-sha.ts';
import type { PullDetail, PullView } from '../operations/pulls.ts';
import { table } from './layout.ts';
import type { Terminal } from './terminal.ts';

export function pullsText(pulls: readonly PullView[], { paint, columns }: Terminal): string {
  if (pulls.length === 0) return 'No open pull requests. `forge-loop pull list --all` shows the others.';
  return table(
    pulls.map((pull) => [
      paint.bold(`#${pull.number}`),
      pull.state,
      pull.issue === null ? '' : `for #${pull.issue}`,
      paint.dim(shortSha(pull.headSha, 'gone')),
      pull.title,
    ]),
    columns,
  );
}

export function pullText(pull: PullDetail, { paint }: Terminal): string {
  const head = pull.headSha === null ? 'its branch is gone' : `${pull.branch} at ${shortSha(pull.headSha)}`;
  const facts = [pull.state, head, ...(pull.issue === null ? [] : [`for #${pull.issue}`])];
  const colour = { green: paint.green, red: paint.red, pending: paint.yellow };
  const checks = pull.checks.map((check) => [
    colour[check.state](check.state),
    check.name,
    [check.job, check.step, check.link].filter(Boolean).join(' · '),
  ]);
  const said = pull.remarks.flatMap((remark) => {
    const where =
      remark.file === null ? '' : ` on ${remark.file}${remark.line === null ? '' : `:${remark.line}`}`;
    const verdict = {
      approve: paint.green(' approves'),
      request_changes: paint.red(' asks for changes'),
      comment: '',
    };
    const at = remark.headSha === null ? '' : `, at ${shortSha(remark.headSha)}`;
    return [
      '',
      `${paint.bold(remark.author)}${verdict[remark.verdict]}${where}${paint.dim(`, ${remark.at}${at}`)}`,
      remark.body.trim(),
    ];
  });
  return [
    paint.bold(`#${pull.number} ${pull.title}`),
    paint.dim(facts.join(' · ')),
    ...(pull.body === '' ? [] : ['', pull.body, '']),
    ...(checks.length > 0 ? [table(checks)] : []),
    ...said,
  ].join('\n');
}
