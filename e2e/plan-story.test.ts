/**
 * A plan of three milestones with the real agents, its sessions rotated and persistent: which sessions there are, what each is
 * told, and what both ways cost by the list. The model is scripted; its prompt cache is played from the bytes it was sent.
 *
 * A coder that begins a session reads three files of 12 kB before it changes anything; one that goes on has read them.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { LoopDetail, UsageLine } from '../src/operations/loop-status.ts';
import { makeWorld, type World } from '../test/support/e2e/world.ts';
import type { Scenario } from '../test/support/llm/scenario.ts';
import { type Entry, type Llm, startLlm } from '../test/support/llm/server.ts';
import { HEROES, type Hero } from './bench/heroes.ts';
import { PROGRAM } from './setup.ts';

type Replies = Scenario['rules'][number]['replies'];
const MODES = ['rotate', 'persist'] as const;
type Mode = (typeof MODES)[number];

const CODER = 'You carry out a plan';
const AUDITOR = 'You are the auditor';
const FILES = ['one.txt', 'two.txt', 'three.txt'];
const MILESTONES = [1, 2, 3];
const PLAN = `<!-- forge-plan:start -->
# Three lines

Loop Name: three-lines

OBJECTIVE-OF-THE-PLAN: answer.txt has a line for each milestone.

${MILESTONES.map((n) => `<!-- forge-section -->\n## Line ${n}\n\nTEXT-OF-MILESTONE-${n}: add the line ${n}.\n`).join('\n')}
## Verification

- \`test -s answer.txt\`

<!-- forge-plan:end -->
`;

const READ: Replies = FILES.map((file) => ({ run: `cat ${file}` }));
const edit = (n: number): Replies => [{ run: `echo line ${n} >> answer.txt` }, { say: `line ${n} is there` }];
const clean = (done: string) => ({ clean: true, summary: { done } });
const AUDITS = [
  clean('line 1'),
  {
    clean: false,
    findings: [{ severity: 'bug', file: 'answer.txt', line: 2, description: 'LINE-TWO-IS-SHORT' }],
  },
  { ...clean('line 2'), resolved: [{ id: '1', why: 'it is longer' }] },
  clean('line 3'),
  clean('all of it'),
];

for (const hero of HEROES)
  describe(`${hero.kind}, a plan of three milestones`, () => {
    test.for(MODES)('%s: its sessions, what they are told, and the account', async (mode) => {
      const llm = await startLlm({ rules: [] }, { cacheKeys: 'apart' });
      const world = makeWorld({ program: PROGRAM, env: hero.env(llm) });
      try {
        const loop = await play(world, llm, hero, mode);
        expectSessions(loop, mode);
        expectToldOnce(llm, mode);
        expectAccount(loop, llm);
        console.log(
          `${costLine(hero, mode, 'coder', loop.usage)}\n${costLine(hero, mode, 'auditor', loop.usage)}`,
        );
      } catch (error) {
        console.error(await world.report());
        throw error;
      } finally {
        await world.dispose();
        await llm.close();
      }
    });
  });

async function play(world: World, llm: Llm, hero: Hero, session: Mode): Promise<LoopDetail> {
  const again = session === 'persist' ? [] : READ;
  llm.play({
    rules: [
      { when: { says: AUDITOR }, replies: AUDITS.map((answer) => ({ answer })) },
      {
        when: { says: CODER },
        replies: [...READ, ...edit(1), ...[2, 2, 3].flatMap((n) => [...again, ...edit(n)])],
      },
    ],
  });
  for (const file of FILES) world.write(file, `${file} ${'lorem ipsum dolor sit amet, '.repeat(430)}\n`);
  world.settings({
    agent: { kind: hero.kind, model: hero.model },
    prices: hero.prices,
    loop: { session },
    gate: { commands: ['test -s answer.txt'] },
  });
  const file = join(world.folder, 'plan.md');
  writeFileSync(file, PLAN);
  await world.json('loop', 'start', file);
  await world.settle();
  const loop = await world.json<LoopDetail>('loop', 'status', 'three-lines');
  expect(loop).toMatchObject({ status: 'completed', audits: 5, milestones: { done: 3 } });
  expect(world.git('show', 'loop/three-lines:answer.txt')).toBe('line 1\nline 2\nline 2\nline 3\n');
  expect(llm.journal.filter(({ outcome }) => outcome === 'unscripted')).toEqual([]);
  return loop;
}

/** Four passes of the coder, five audits. */
function expectSessions({ usage }: LoopDetail, mode: Mode): void {
  const sessionsOf = (role: string) =>
    new Set(usage.filter((one) => one.role === role).map(({ sessionId }) => sessionId)).size;
  expect({ coder: sessionsOf('coder'), auditor: sessionsOf('auditor') }).toEqual({
    coder: mode === 'rotate' ? 4 : 1,
    auditor: 5,
  });
}

/** What a session was sent in the end: each conversation is sent as a whole, so nothing may be in it twice. */
function expectToldOnce(llm: Llm, mode: Mode): void {
  const conversations = new Map<string | null, string>();
  for (const { request } of llm.journal.filter(isCoders))
    conversations.set(request.session, JSON.stringify(request.body));
  const told = [...conversations.values()];
  const times = (text: string) => told.map((one) => one.split(text).length - 1);
  const marks = MILESTONES.map((n) => times(`TEXT-OF-MILESTONE-${n}`));
  if (mode === 'rotate') {
    expect(times('OBJECTIVE-OF-THE-PLAN')).toEqual([1, 1, 1, 1]);
    expect(marks, 'each pass is told its own milestone').toEqual([
      [1, 0, 0, 0],
      [0, 1, 1, 0],
      [0, 0, 0, 1],
    ]);
    expect(times('LINE-TWO-IS-SHORT')[2], 'and what the audit found').toBeGreaterThan(0);
  } else {
    expect(times('OBJECTIVE-OF-THE-PLAN'), 'the plan is never sent again').toEqual([1]);
    expect(marks).toEqual([[1], [1], [1]]);
  }
}

const isCoders = ({ request }: Entry): boolean =>
  !request.aside &&
  request.texts.some((text) => text.includes(CODER)) &&
  !request.texts.some((text) => text.includes(AUDITOR));

/** The sessions together are what was spent, and what the provider served. */
function expectAccount({ usage, task }: LoopDetail, llm: Llm): void {
  const sum = (kind: 'input' | 'output' | 'reasoning' | 'cacheRead' | 'cacheWrite' | 'costUsd') =>
    usage.reduce((total, one) => total + (one[kind] ?? Number.NaN), 0);
  const told = llm.told();
  expect({
    input: sum('input'),
    output: sum('output') + sum('reasoning'),
    cacheRead: sum('cacheRead'),
    cacheWrite: sum('cacheWrite'),
  }).toEqual({
    input: told.input,
    output: told.output + told.reasoning,
    cacheRead: told.cacheRead,
    cacheWrite: told.cacheWrite,
  });
  expect(task.spendComplete).toBe(true);
  expect(task.costUsd).toBeCloseTo(sum('costUsd'), 9);
  expect(task.tokens).toBe(told.input + told.output + told.reasoning + told.cacheRead + told.cacheWrite);
}

function costLine({ kind, model }: Hero, mode: Mode, role: string, usage: readonly UsageLine[]): string {
  const mine = usage.filter((one) => one.role === role);
  const sum = (of: (line: UsageLine) => number) => mine.reduce((total, one) => total + of(one), 0);
  const cells = [
    `${kind} (${model})`,
    mode,
    role,
    new Set(mine.map(({ sessionId }) => sessionId)).size,
    sum(({ input }) => input),
    sum(({ cacheRead }) => cacheRead),
    sum(({ cacheWrite }) => cacheWrite),
    sum(({ output, reasoning }) => output + reasoning),
    `$${sum(({ costUsd }) => costUsd ?? Number.NaN).toFixed(4)}`,
  ];
  return `| ${cells.join(' | ')} |`;
}
