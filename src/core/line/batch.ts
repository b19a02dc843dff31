/**
 * Where the gate is slow, only the last of the line is tested, for everybody ahead of it: each of their candidates is contained in
 * its. Green, all of them land, in order. Red, the one in the middle is tested, and so on, until it is known which is the first
 * that is red. One gate runs for the line at a time; whoever lines up meanwhile is in the next batch.
 *
 * What comes next follows from the rows of all that are in line: each decides for itself, and all decide the same.
 */
import type { Candidate, Contract } from '../event.ts';
import { type Evidence, gateDigest, proves } from '../gate.ts';
import type { Policy } from '../policy.ts';
import type { Task } from '../task.ts';
import { shortSha } from '../words/short-sha.ts';
import { nameOf, namesOf, togetherText } from '../words/words.ts';
import { type Ahead, asAhead, type InLine, inOrder } from './line.ts';

export interface InBatch extends InLine {
  contract: Contract;
  /** Whose work its candidate contains beside its own, landed since or not. */
  ahead: readonly Ahead[];
  /** What was found on its own candidate. */
  gate: Evidence | null;
  /** Its gate runs, or is about to. */
  isTesting: boolean;
}

type BatchStep =
  /** It is tested now: compared with `base`, which has nothing of the batch, and by the commands of these, too. */
  | { kind: 'test'; base: string; with: Ahead[]; digests: string[] }
  /** By its own gate, or by that of another that contains it. */
  | { kind: 'proven'; by: InBatch & { candidate: object; gate: Evidence } }
  /** The first that is red: those ahead of it are green. */
  | { kind: 'red'; gate: Evidence }
  | { kind: 'wait'; why: string };

export const batchOf = (live: readonly Task[]): InBatch[] =>
  inOrder(live).map(({ id, issue, contract, landing }) => ({
    task: id,
    issue,
    contract,
    candidate: landing?.candidate ?? null,
    ahead: landing?.ahead ?? [],
    gate: landing?.within ? null : (landing?.gate ?? null),
    isTesting: landing?.testing === true,
  }));

/** How it is tested, together with all that are ahead of it. */
export function testOf(
  batch: readonly InBatch[],
  id: string,
  gate: Policy['gate'],
): { base: string; with: Ahead[]; digests: string[] } {
  const at = batch.findIndex(({ task }) => task === id);
  return {
    base: batch[0]!.candidate?.trunk ?? candidateOf(batch[at]!).trunk,
    with: batch.slice(0, at).map(asAhead),
    digests: batch.slice(0, at + 1).map(({ contract }) => gateDigest(gate, contract)),
  };
}

/** For a task that is in it, with a candidate on top of the one ahead. */
export function batchStep(batch: readonly InBatch[], id: string, gate: Policy['gate']): BatchStep {
  const at = batch.findIndex(({ task }) => task === id);
  const me = batch[at]!;
  const digests = batch.map(({ contract }) => gateDigest(gate, contract));
  const found = batch.map((one, index) => foundOn(one, digests.slice(0, index + 1)));
  const by = provenBy(batch, found, at);
  if (by) return { kind: 'proven', by: by as Extract<BatchStep, { kind: 'proven' }>['by'] };
  const test: BatchStep = { kind: 'test', ...testOf(batch, id, gate) };
  // It was asked for, and nothing came of it.
  if (me.isTesting) return test;

  const loose = batch.findIndex((_, index) => !isStacked(batch, index));
  if (loose >= 0) {
    const where = loose > at ? 'behind' : 'ahead';
    return wait(`waiting for the candidate of ${nameOf(batch[loose]!)}, which is ${where}`);
  }
  const red = found.indexOf('fail');
  const testing = batch.findLastIndex(({ isTesting }) => isTesting);
  const tested = batch.slice(0, testing + 1);
  if (testing > at) return wait(`being tested ${together(tested, id)}`);
  if (testing >= 0 && red < 0) return wait(`in the next batch, after ${namesOf(tested)}`);
  if (testing < 0 && red < 0)
    return at === batch.length - 1 ? test : wait(`tested next, ${together(batch, id)}`);
  const green = found.slice(0, red).lastIndexOf('pass');
  const isFound = green + 1 === red;
  if (isFound && at === red && me.gate) return { kind: 'red', gate: me.gate };
  if (isFound) return wait(`waiting for ${nameOf(batch[red]!)} (red) to leave the line`);
  if (testing < 0 && at === Math.floor((green + red) / 2)) return test;
  return wait(`failed together at ${shortSha(candidateOf(batch[red]!).sha)}; bisecting`);
}

/** `together with #7 and #9 at 1a2b3c4d5e`, which is the last of them. */
const together = (batch: readonly InBatch[], id: string): string =>
  togetherText(
    batch.filter(({ task }) => task !== id),
    candidateOf(batch.at(-1)!).sha,
  );

/** Nobody is tested, or tested with others, before there is one. */
function candidateOf({ task, candidate }: InBatch): Candidate {
  if (candidate === null) throw new Error(`bug: task ${task} is tested in a batch and has no candidate`);
  return candidate;
}

const wait = (why: string): BatchStep => ({ kind: 'wait', why });

/** What the gate says about it, by the commands of all that are in it; null where that was not asked. One that could not run is found as a red one is. */
function foundOn({ candidate, gate }: InBatch, digests: readonly string[]): 'pass' | 'fail' | null {
  if (candidate === null || !proves(gate, candidate.tree, digests)) return null;
  return gate.outcome === 'pass' ? 'pass' : 'fail';
}

/** The nearest at or behind it that was tested and contains it, if that is green. One that is gone vouches for nobody. */
function provenBy(
  batch: readonly InBatch[],
  found: readonly ('pass' | 'fail' | null)[],
  at: number,
): InBatch | null {
  for (let index = at; index < batch.length && (index === at || isStacked(batch, index)); index += 1) {
    if (found[index] === 'pass') return batch[index]!;
    if (found[index] === 'fail') return null;
  }
  return null;
}

/** Its candidate is built on that of the one ahead. */
function isStacked(batch: readonly InBatch[], index: number): boolean {
  const { candidate } = batch[index]!;
  return candidate !== null && (index === 0 || candidate.trunk === batch[index - 1]!.candidate?.sha);
}
