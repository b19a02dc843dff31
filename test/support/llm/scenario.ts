/**
 * What a scripted model does, told once for every provider.
 *
 * A scenario is a list of rules. The first rule whose `when` fits a request answers it, with its replies one after the
 * other: one reply is one answer of the model, and a request that is sent again gets the next one. Nothing is decided
 * from the last message alone, since agents add reminders of their own behind it.
 */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';
import { z } from 'zod';
import { PROVIDER_ERRORS } from './provider-errors.ts';

const usage = z
  .strictObject({
    input: z.int().nonnegative(),
    output: z.int().nonnegative(),
    cacheRead: z.int().nonnegative(),
    cacheWrite: z.int().nonnegative(),
    reasoning: z.int().nonnegative(),
  })
  .partial();

const failure = z.strictObject({
  status: z.int(),
  type: z.string(),
  message: z.string(),
  headers: z.record(z.string(), z.string()).default({}),
  /** Seconds until the limit ends, told in the provider's own way. */
  resetsInSeconds: z.number().optional(),
});

const reply = z.strictObject({
  think: z.string().optional(),
  say: z.string().optional(),
  /** So many bytes of text, instead of `say`. */
  sayBytes: z.int().optional(),
  /** A command for the agent's own shell tool. */
  run: z.string().optional(),
  /** A file for the agent's own tool that writes files; the path starts at its working directory. */
  write: z.strictObject({ path: z.string(), text: z.string() }).optional(),
  /** A tool by the name it has in this agent. */
  call: z.strictObject({ tool: z.string(), input: z.record(z.string(), z.unknown()) }).optional(),
  /** The structured answer that the request's schema asks for. */
  answer: z.unknown().optional(),
  fail: failure.optional(),
  /** What the provider of this wire says then, word for word. */
  error: z.enum(PROVIDER_ERRORS).optional(),
  /** A page, told as a success: what a proxy that wants somebody to sign in sends. */
  page: z.string().optional(),
  /** The connection is cut: before anything was said, or in the middle of the answer. */
  drop: z.enum(['before', 'middle']).optional(),
  /** Nothing more comes, and the connection stays open. */
  hang: z.enum(['before', 'middle']).optional(),
  stop: z.enum(['refusal', 'max_tokens']).optional(),
  /** What it is said to have used, instead of what was counted. */
  usage: usage.optional(),
  /** How often this reply is given; `always` for ever. */
  times: z.union([z.int().positive(), z.literal('always')]).default(1),
});

const rule = z.strictObject({
  when: z
    .strictObject({
      /** Somewhere in what the conversation's users and tools said. */
      says: z.string(),
      session: z.string(),
      model: z.string(),
    })
    .partial()
    .default({}),
  replies: z.array(reply).min(1),
});

const scenario = z.strictObject({ rules: z.array(rule) });

export type Reply = z.output<typeof reply>;
export type Failure = z.output<typeof failure>;
export type Scenario = z.input<typeof scenario>;
export type Rule = z.output<typeof rule>;

/** What a rule may look at. */
export interface Asked {
  texts: readonly string[];
  session: string | null;
  model: string;
}

export interface Script {
  /** The next reply to this request; null when no rule fits or the fitting one has nothing left to say. */
  next(asked: Asked): Reply | null;
  /** Rules that go before the ones there are. */
  prepend(more: Scenario): void;
}

export function scriptOf(given: Scenario): Script {
  const plays = (parsed: Scenario): Play[] =>
    scenario.parse(parsed).rules.map((one) => ({ rule: one, given: one.replies.map(() => 0) }));
  let all = plays(given);
  return {
    next(asked) {
      const play = all.find(({ rule: { when } }) => fits(when, asked));
      return play ? nextOf(play) : null;
    },
    prepend: (more) => {
      all = [...plays(more), ...all];
    },
  };
}

/** A scenario from a file beside this one. */
export function scenarioFile(name: string): Scenario {
  const path = fileURLToPath(new URL(`./scenarios/${name}.yaml`, import.meta.url));
  return parse(readFileSync(path, 'utf8')) as Scenario;
}

interface Play {
  rule: Rule;
  given: number[];
}

function nextOf({ rule: { replies }, given }: Play): Reply | null {
  const index = replies.findIndex(({ times }, at) => times === 'always' || (given[at] ?? 0) < times);
  const found = replies[index];
  if (!found) return null;
  given[index] = (given[index] ?? 0) + 1;
  return found;
}

function fits(when: Rule['when'], asked: Asked): boolean {
  if (when.session !== undefined && when.session !== asked.session) return false;
  if (when.model !== undefined && when.model !== asked.model) return false;
  return when.says === undefined || asked.texts.some((text) => text.includes(when.says as string));
}
