/**
 * The critics of the simulated world: they approve, ask for changes, block, answer nonsense, contradict themselves, leave
 * out what they were asked. Only an approval without any flaw is remembered as one; the world forbids every other merge.
 */
import type { TurnRequest } from '../../src/agent/agent.ts';
import type { Temper } from './agent.ts';
import type { World } from './world.ts';

export function criticReport(world: World, temper: Temper, turn: TurnRequest): unknown {
  const { random } = world;
  if (random.chance(temper.garbage)) return { verdict: 'LGTM' };
  const head = turn.prompt.match(/head ([0-9a-f]{40})/)?.[1] ?? '';
  const [told = '', settled = ''] = turn.prompt.split('SETTLED');
  const ids = told.match(/^[cs]\d+(?=:)/gm) ?? [];
  const open = [...told.matchAll(/^- (\w+\.\d+) \[(sev\d)\]/gm)].map(([, id, severity]) => ({
    id: id!,
    severity: severity!,
  }));
  const left = [...settled.matchAll(/^- \w+\.\d+ \[sev\d\](?: a\.txt:1)? (\w+ \w+)/gm)].map(
    ([, said]) => said!,
  );

  const criteria = ids.map((id) => ({ id, met: 'met', evidence: 'seen' }));
  const isForgetful = random.chance(temper.forgets);
  const earlier = open
    .filter(() => !isForgetful)
    .map(({ id }) => ({
      id,
      addressed: random.chance(1 - temper.forgets) ? 'yes' : random.pick(['no', 'partly']),
      why: '',
    }));
  // Advice of an auditor is in nobody's way, whatever is said of it.
  const isSatisfied = open
    .filter(({ severity }) => severity !== 'sev3')
    .every(({ id }) => earlier.some((one) => one.id === id && one.addressed === 'yes'));
  const rest = { criteria, earlier };
  if (random.chance(temper.blocks))
    return { ...rest, verdict: random.pick(['BLOCK', 'BLOCK_ON_SPEC']), findings: [] };

  if (!random.chance(temper.approves)) {
    // A person has settled it: a critic that only repeats it stands in nobody's way.
    const repeats = left.length > 0 && random.chance(0.5);
    const message = repeats ? random.pick(left) : `wrong ${letters(random.hex(4))}`;
    if (left.includes(message) && isSatisfied) world.approvedHeads.add(head);
    const finding = { severity: 'sev2', message, category: 'x', file: 'a.txt', line: 1 };
    return { ...rest, verdict: 'REQUEST_CHANGES', findings: [finding] };
  }
  const flaw = random.chance(temper.flaws) ? random.pick(['sev1', 'unmet', 'left out', 'no evidence']) : null;
  const isHarmless = flaw !== 'sev1' && ids.length === 0;
  if (isSatisfied && (flaw === null || isHarmless)) world.approvedHeads.add(head);
  if (flaw === 'unmet' && criteria[0]) criteria[0].met = random.pick(['unmet', 'unclear']);
  if (flaw === 'left out') criteria.pop();
  if (flaw === 'no evidence' && criteria[0]) criteria[0].evidence = '';
  const hole = { severity: 'sev1', message: `broken ${letters(random.hex(4))}`, category: 'x' };
  return { ...rest, verdict: 'APPROVE', findings: flaw === 'sev1' ? [hole] : [] };
}

/** A word of its own for each finding: digits do not tell findings apart. */
const letters = (hex: string): string => hex.replace(/\d/g, (digit) => 'ghijklmnop'[Number(digit)]!);
