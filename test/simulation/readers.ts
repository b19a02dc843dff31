/**
 * Issues that say too little, a specifier that reads them well or badly, and people who read what it proposes. The world
 * keeps account of who agreed to what, independently of what the loop believes.
 */
import type { TurnRequest } from '../../src/agent/agent.ts';
import type { World } from './world.ts';

const PLAN_START = '<!-- forge-plan:start -->';
const SECTION = '<!-- forge-section -->';

export type Wording = 'sure' | 'thin' | 'vague' | 'taste' | 'plan' | 'unreadable';

export const TEXTS: Record<Wording, (number: number) => { title: string; body: string }> = {
  sure: (number) => ({ title: `Issue ${number}`, body: `It returns \`${number}\`.` }),
  thin: (number) => ({ title: `Issue ${number}`, body: `We need \`f${number}\` here.` }),
  vague: (number) => ({ title: `Issue ${number}`, body: 'Customers ask for it.' }),
  taste: (number) => ({ title: `Make issue ${number} nicer`, body: 'It should feel right.' }),
  plan: (number) => ({ title: `Issue ${number}`, body: planBody(1 + (number % 3)) }),
  unreadable: (number) => ({
    title: `Issue ${number}`,
    body: `It returns \`${number}\`.\n${PLAN_START}\nDo it.`,
  }),
};

/** People write on below it: that belongs to the last milestone. */
const planBody = (milestones: number): string =>
  [
    'Cut into parts.',
    ...Array.from({ length: milestones }, (_, at) => `${SECTION}\n## Part ${at + 1}\n\nDo it.`),
  ].join('\n');

/** Probabilities of the specifier's answers; what is left is `ready`. */
export interface Reading {
  expands: number;
  declines: number;
  contradicts: number;
  babbles: number;
}

export function specify(world: World, turn: TurnRequest, reading: Reading): unknown {
  const { random } = world;
  const issue = turn.issue!;
  const say = (word: SpecifierWord, report: unknown): unknown => {
    world.lastWord.set(issue, word);
    if (word === 'expand') world.agreedTo.delete(turn.task);
    return report;
  };
  if (random.chance(reading.babbles))
    return say('babble', random.pick([null, { decision: 'maybe' }, { decision: 'expand', criteria: [] }]));
  if (random.chance(reading.contradicts))
    return say('decline', { decision: 'ready', contradictions: ['up, and down'] });
  if (random.chance(reading.declines)) return say('decline', { decision: 'decline', questions: ['Which?'] });
  if (random.chance(reading.expands))
    return say('expand', {
      decision: 'expand',
      problem: `p ${random.hex(3)}`,
      criteria: [{ text: 'it is there', verify: 'touch harm' }],
    });
  return say('ready', { decision: 'ready' });
}

export type SpecifierWord = 'ready' | 'expand' | 'decline' | 'babble';

/** Whoever starts a coder must have been told what to do by a person, or by a specifier whom a person believed. */
export function watchCoder(world: World, turn: TurnRequest): void {
  const issue = turn.issue!;
  const wording = world.wordings.get(issue);
  const word = world.lastWord.get(issue);
  if (wording === 'taste') world.violate(`a coder was started on issue ${issue}, a matter of taste`);
  if (wording === 'unreadable')
    world.violate(`a coder was started on issue ${issue}, whose plan can't be read`);
  if (wording !== 'vague' || word === 'ready' || (word === 'expand' && world.agreedTo.has(turn.task))) return;
  world.violate(`a coder was started on the vague issue ${issue} (${word}), and nobody agreed to it`);
}

/** Somebody reads the proposals now and then. */
export async function answerProposals(world: World): Promise<void> {
  const { store, random, time } = world;
  for (const { task } of await store.tasks({ live: true })) {
    if (task.hold?.reason !== 'spec_proposed' || task.issue === null || !random.chance(0.4)) continue;
    world.agreedTo.add(task.id);
    await store.request({ task: task.id, kind: 'approve', by: 'person', at: time.now() });
  }
}
