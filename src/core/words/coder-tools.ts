/**
 * What a coder may say to the loop in the middle of a turn, and what it is answered. Nothing it says here decides
 * anything: a report is noted, a question is answered by rule so that no turn ever waits for a person, and what it
 * calls finished is judged by the gate like everything else.
 */
import { z } from 'zod';
import type { Finding } from '../change/findings.ts';
import { event, type NewEvent } from '../event.ts';
import type { Task } from '../task.ts';
import { findingText } from './feedback-text.ts';
import { fence } from './fence.ts';

const short = z.string().min(1).max(4000);

const SHAPES = {
  report_progress: { message: short.describe('One sentence: what is done, what comes next.') },
  list_findings: {},
  ask_operator: { question: short.describe('The question, with the choices you see.') },
  finish: {
    summary: short.describe('What was changed and why, for the pull request’s readers.'),
    tests: z.string().max(4000).default('').describe('What was run to check it, and how it went.'),
    open: z.array(z.string().max(1000)).max(20).default([]).describe('What is left open, or was assumed.'),
  },
} as const;

const DESCRIPTIONS: Record<ToolName, string> = {
  report_progress: 'Tell the operator in one sentence where the work stands. Nobody answers.',
  list_findings:
    'List the acceptance criteria and the findings of reviews that are still open for this issue.',
  ask_operator:
    'Ask about something the issue leaves open. It is answered at once, by rule: nobody is waiting.',
  finish:
    'Say that the work is complete, with a summary. Then end your turn: the loop verifies and publishes it.',
};

type ToolName = keyof typeof SHAPES;

export interface CoderTool {
  name: ToolName;
  description: string;
  /** The fields of its input, for hosts that take zod. */
  shape: Record<string, z.ZodType>;
}

export const CODER_TOOLS: readonly CoderTool[] = (Object.keys(SHAPES) as ToolName[]).map((name) => ({
  name,
  description: DESCRIPTIONS[name],
  shape: SHAPES[name],
}));

/** For hosts that take a JSON Schema. */
export function inputSchemaOf({ shape }: CoderTool): Record<string, unknown> {
  const { $schema: _, ...schema } = z.toJSONSchema(z.object(shape), { io: 'input' });
  return schema;
}

export interface ToolAnswer {
  text: string;
  isError: boolean;
}

/** `calls`: how often this tool was called in this turn before. */
export function answerCall(
  task: Task,
  turn: number,
  findings: readonly Finding[],
  call: { name: string; input: unknown; calls: number; most: number },
): { answer: ToolAnswer; events: NewEvent[] } {
  const { name, calls, most } = call;
  if (!isTool(name)) {
    const tool = name.slice(0, 100);
    const why = `there is no tool ${tool}`;
    const refused = { role: 'coder', turn, code: 'tool_missing', tool, detail: '', why } as const;
    return { answer: { text: why, isError: true }, events: [event('tool_refused', refused)] };
  }
  if (calls >= most)
    return refuse(`${name} was called ${calls} times in this turn; it is not answered again`);
  const parsed = z.object(SHAPES[name]).safeParse(call.input ?? {});
  if (!parsed.success) return refuse(`the input can't be used: ${z.prettifyError(parsed.error)}`);
  const input = parsed.data as Record<string, never>;
  switch (name) {
    case 'report_progress':
      return say('Noted.', event('coder_reported', { turn, message: input.message! }));
    case 'list_findings':
      return say(openText(task, findings));
    case 'ask_operator':
      return say(NOBODY, event('coder_asked', { turn, question: input.question!, answer: NOBODY }));
    case 'finish': {
      const { summary, tests, open } = input as unknown as { summary: string; tests: string; open: string[] };
      return say('Noted. End your turn now.', event('coder_finished', { turn, summary, tests, open }));
    }
    default:
      return name satisfies never;
  }
}

export const NOBODY =
  'Nobody answers during a turn. Choose the simplest reading that meets the issue as it is written, go on with it, and name the choice in the summary of your last message.';

const isTool = (name: string): name is ToolName => Object.hasOwn(SHAPES, name);

const say = (text: string, ...events: NewEvent[]) => ({ answer: { text, isError: false }, events });
const refuse = (text: string) => ({ answer: { text, isError: true }, events: [] });

function openText({ contract }: Task, findings: readonly Finding[]): string {
  const open = findings.filter(({ status }) => status === 'open');
  const criteria = contract.criteria.map(({ id, text }) => `- ${id} ${text}`).join('\n');
  return [
    ...(criteria === '' ? [] : ['Acceptance criteria:', fence('criteria', criteria)]),
    open.length === 0 ? 'No finding is open.' : 'Open findings:',
    ...open.map((finding) => findingText(finding, finding.id)),
  ].join('\n');
}
