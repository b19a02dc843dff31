/**
 * Findings that need no judgement, by rule over a change: what the gate rests on, protected paths, secrets, tests that
 * went away or are skipped, conflict markers, huge files, lock files on their own, signs of bypassed hooks.
 *
 * The text is the agent's and may be hostile: each line is looked at a fixed number of times, nothing in it is run.
 */

import type { Policy } from '../policy.ts';
import { parseReport } from '../verdict.ts';
import { shortSha } from '../words/short-sha.ts';
import { type Change, type ChangedBlob, type HiddenFile, SEARCHED_BYTES } from './change.ts';
import { protectedAmong, secretsOf } from './danger.ts';
import type { NewFinding, Severity } from './findings.ts';
import { guardedAmong, type SectionedFile } from './guarded.ts';
import { type FilePatch, parsePatch } from './patch.ts';
import { baseName, isLockfile, LOCKFILES } from './shown-diff.ts';
import { testsLost, testsSkipped } from './test-rules.ts';

export interface Inspected {
  change: Change;
  sectioned: readonly SectionedFile[];
  isVerified: boolean;
}

export function ruleFindings({ change, sectioned, isVerified }: Inspected, policy: Policy): NewFinding[] {
  const files = parsePatch(change.patch);
  const content = new Map(change.blobs.map(({ path, sha }) => [path, sha ?? 'deleted']));
  const found = [
    ...guardedAmong(change.files, files, sectioned, policy.gate, isVerified).map(({ path, why }) =>
      finding('sev1', 'gate_tampering', path, `The verification rests on ${path}: ${why}.`, TAKE_BACK),
    ),
    ...protectedAmong(change.files, policy.protectedPaths).map((path) =>
      finding('sev1', 'protected_path', path, `${path} is protected and was changed.`, TAKE_BACK),
    ),
    ...files
      .filter(isReport)
      .map(({ path }) =>
        finding('sev1', 'gate_tampering', path, `${path} looks like a critic's report.`, TAKE_BACK),
      ),
    ...secretsOf(change).map((said) => {
      const [path = '', what = ''] = splitLast(said, ': ');
      const fix = 'Remove it from the change and from its history.';
      return finding('sev1', 'secret', path, `${path} has ${what}.`, fix);
    }),
    ...testsLost(files),
    ...testsSkipped(files),
    ...files.flatMap(conflictMarkers),
    ...change.blobs.flatMap((blob) => huge(blob, files, change.blobs)),
    ...change.hidden.flatMap(becameBinary),
    ...lonelyLockfiles(change.files),
    ...bypassedHooks(change),
  ];
  return found.map((one) => ({ ...one, context: (one.file && content.get(one.file)) ?? null }));
}

const TAKE_BACK = 'Revert the change to this file; a person decides about it.';

/** Without a person these never pass: what they say is about the judging itself. */
export const isGrave = ({ severity }: NewFinding): boolean => severity === 'sev1';

const finding = (
  severity: Severity,
  category: string,
  file: string | null,
  message: string,
  suggestion: string | null = null,
  line: number | null = null,
): NewFinding => ({ severity, category, file, line, message, scenario: null, suggestion });

/** One that a careless reader might take for the critic's own. */
function isReport({ path, kind, added }: FilePatch): boolean {
  if (kind === 'deleted' || added.length === 0 || added.length > 5000) return false;
  if (/critic[-_]?report/i.test(baseName(path)) && /\.(json|md|txt|ya?ml)$/i.test(path)) return true;
  return /\.(json|md|txt)$/i.test(path) && parseReport(null, added.map(({ text }) => text).join('\n')).ok;
}

function conflictMarkers({ path, added }: FilePatch): NewFinding[] {
  const first = added.find(({ text }) => /^(?:<{7}|>{7}|\|{7})(?: |$)/.test(text));
  if (!first) return [];
  const fix = 'Resolve the conflict and leave no marker.';
  return [
    finding('sev2', 'conflict_marker', path, `A conflict marker was left in ${path}.`, fix, first.line),
  ];
}

const HUGE_BYTES = 1_000_000;

/** What a path adds to the repository for good, whether the file is new or has grown. */
function huge(
  { path, bytes }: ChangedBlob,
  files: readonly FilePatch[],
  blobs: readonly ChangedBlob[],
): NewFinding[] {
  const file = files.find((one) => one.path === path);
  if (!file || bytes === null || isLockfile(path)) return [];
  const before = blobs.find((one) => one.path === (file.from ?? path))?.bytesBefore ?? 0;
  if (bytes - before > HUGE_BYTES) {
    const how = before === 0 ? 'is huge' : 'has become huge';
    return [finding('sev2', 'huge_file', path, `${path} ${how}: more than a megabyte was added.`)];
  }
  if (!file.isBinary) return [];
  if (bytes > SEARCHED_BYTES) {
    const message = `${path} is binary and was changed: it is too large to be searched for secrets.`;
    return [finding('sev3', 'binary_file', path, message)];
  }
  return file.kind === 'added'
    ? [finding('sev3', 'binary_file', path, `${path} is binary: nobody can read what it does.`)]
    : [];
}

/** One NUL byte hides a whole file from every reviewer: tests that go, markers that stay, all of it. */
function becameBinary({ path, commit, before, after }: HiddenFile): NewFinding[] {
  if (commit !== null || before === null || before.includes('\0') || !after.includes('\0')) return [];
  const message = `${path} was text and is binary now: nobody can read what changed in it.`;
  return [finding('sev2', 'binary_file', path, message, 'Write it as text again, without a NUL byte.')];
}

function lonelyLockfiles(files: readonly string[]): NewFinding[] {
  return files.filter(isLockfile).flatMap((path) => {
    const folder = path.slice(0, path.length - baseName(path).length);
    const manifests = LOCKFILES[baseName(path)] ?? [];
    // A lock file at the top locks every workspace below it.
    const isExplained = files.some((file) => manifests.includes(baseName(file)) && file.startsWith(folder));
    if (isExplained) return [];
    const message = `${path} was changed, its manifest (${manifests.join(' or ')}) was not.`;
    return [
      finding('sev2', 'lockfile', path, message, 'Revert it, or change the manifest that asks for it.'),
    ];
  });
}

/** git keeps no trace of --no-verify; only what a message admits and what a hook's own files show can be seen. */
function bypassedHooks({ commits, files }: Change): NewFinding[] {
  const admitted = commits.filter(({ message }) =>
    /--no-verify\b|\bHUSKY=0\b|\bHUSKY_SKIP_HOOKS\b|\[(?:skip ci|ci skip|no ci|skip actions)\]/i.test(
      message,
    ),
  );
  const hooks = files.filter((path) =>
    /^(?:\.husky|\.githooks)\/|(?:^|\/)(?:\.pre-commit-config\.yaml|\.?lefthook\.ya?ml)$/.test(path),
  );
  return [
    ...admitted.map(({ sha }) =>
      finding(
        'sev2',
        'hooks',
        null,
        `The message of commit ${shortSha(sha)} says that hooks or CI are skipped.`,
      ),
    ),
    ...hooks.map((path) =>
      finding('sev2', 'hooks', path, `${path} decides which hooks run, and was changed.`),
    ),
  ];
}

function splitLast(text: string, at: string): [string, string] {
  const index = text.lastIndexOf(at);
  return [text.slice(0, index), text.slice(index + at.length)];
}
