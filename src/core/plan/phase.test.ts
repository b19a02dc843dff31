import { describe, expect, test } from 'vitest';
import { nextPhase, PHASES, type Phase, phaseEdges, STEPS, type Step } from './phase.ts';

interface Shape {
  milestone: number;
  milestones: number;
  postAction: boolean;
}

const first: Shape = { milestone: 0, milestones: 3, postAction: false };
const last: Shape = { milestone: 2, milestones: 3, postAction: false };
const whole: Shape = { milestone: 0, milestones: 0, postAction: false };
const acting = (shape: Shape): Shape => ({ ...shape, postAction: true });

/** Every step that exists; all others must not. */
const EDGES: [name: string, Phase, Step, Shape, next: Phase | 'delivered', milestone: number][] = [
  ['coding, turn finished (loops 1)', 'coding', 'coded', first, 'auditing', 0],
  ['clean, more milestones (loops 2)', 'auditing', 'audit_clean', first, 'coding', 1],
  ['last milestone clean (loops 3)', 'auditing', 'audit_clean', last, 'final_auditing', 2],
  ['last clean, whatever follows (loops 3)', 'auditing', 'audit_clean', acting(last), 'final_auditing', 2],
  ['milestone dirty (loops 4)', 'auditing', 'audit_dirty', first, 'coding', 0],
  ['last milestone dirty (loops 4)', 'auditing', 'audit_dirty', last, 'coding', 2],
  ['no milestones, clear (loops 5)', 'auditing', 'audit_clean', whole, 'delivered', 0],
  ['no milestones, clear, acting (loops 5)', 'auditing', 'audit_clean', acting(whole), 'post_action', 0],
  ['no milestones, dirty (loops 6)', 'auditing', 'audit_dirty', whole, 'coding', 0],
  ['final audit clean (loops 7)', 'final_auditing', 'audit_clean', last, 'delivered', 2],
  ['final audit clean, acting (loops 7)', 'final_auditing', 'audit_clean', acting(last), 'post_action', 2],
  ['final audit dirty: no rewind (loops 8)', 'final_auditing', 'audit_dirty', last, 'final_audit_fix', 2],
  ['fix finished (loops 9)', 'final_audit_fix', 'coded', last, 'final_auditing', 2],
  ['post action over (loops 10)', 'post_action', 'acted', acting(last), 'delivered', 2],
];

test.each(EDGES)('%s', (_, phase, step, shape, next, milestone) => {
  const at = Object.freeze({ phase, ...shape });
  expect(nextPhase(at, step)).toEqual({ phase: next, milestone });
});

describe('what is not in the table does not exist', () => {
  const isEdge = (phase: Phase, step: Step) => EDGES.some(([, from, by]) => from === phase && by === step);
  const others = PHASES.flatMap((phase) => STEPS.map((step) => [phase, step] as const)).filter(
    ([phase, step]) => !isEdge(phase, step),
  );

  test.each(others)('in %s, %s changes nothing', (phase, step) => {
    for (const shape of [first, last, whole, acting(first), acting(last), acting(whole)])
      expect(nextPhase({ phase, ...shape }, step)).toBeNull();
  });

  test('there are 13 of them', () => {
    expect(others).toHaveLength(13);
  });
});

test('it never changes what it is given (loops 13)', () => {
  const at = Object.freeze({ phase: 'auditing' as const, ...first });
  nextPhase(at, 'audit_clean');
  expect(at).toEqual({ phase: 'auditing', ...first });
});

test('the way of a whole plan takes a clean audit for each milestone and one for the whole (loops 19)', () => {
  const steps: Step[] = [
    'coded',
    'audit_clean',
    'coded',
    'audit_clean',
    'coded',
    'audit_clean',
    'audit_clean',
  ];
  let at = { phase: 'coding' as Phase, ...first };
  const seen: string[] = [];
  for (const step of steps) {
    const next = nextPhase(at, step)!;
    seen.push(`${next.phase} ${next.milestone}`);
    at = { ...at, ...next, phase: next.phase as Phase };
  }
  expect(seen).toEqual([
    'auditing 0',
    'coding 1',
    'auditing 1',
    'coding 2',
    'auditing 2',
    'final_auditing 2',
    'delivered 2',
  ]);
});

test.each([
  [
    'with milestones and a post action',
    { milestones: 3, postAction: true },
    [
      'coding auditing',
      'auditing next',
      'auditing coding',
      'auditing final_auditing',
      'final_auditing post_action',
      'final_auditing final_audit_fix',
      'post_action delivered',
      'final_audit_fix final_auditing',
    ],
  ],
  [
    'of one piece',
    { milestones: 0, postAction: false },
    ['coding auditing', 'auditing delivered', 'auditing coding'],
  ],
])('the ways of a plan %s', (_, plan, ways) => {
  expect(phaseEdges(plan).map(({ from, to }) => `${from} ${to}`)).toEqual(ways);
});
