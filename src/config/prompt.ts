/**
 * Prompts are Liquid templates, strict: an unknown variable or filter is an error, never an empty string. They read
 * no files, and their time, memory and length are bounded. Text from strangers is only ever a value, never a template.
 */
import { createRequire } from 'node:module';
import type { StaticAnalysis, Template } from 'liquidjs';
import { UserError } from '../errors.ts';
import { isMap } from './map.ts';
import { nearest } from './nearest.ts';

const MAX_CHARS = 4_000_000;

/** Loaded when the first template is looked at, which most commands never do. */
const liquid = once(() => {
  const { Liquid, LiquidError } = createRequire(import.meta.url)('liquidjs') as typeof import('liquidjs');
  const engine = new Liquid({
    strictVariables: true,
    strictFilters: true,
    ownPropertyOnly: true,
    templates: {},
    parseLimit: 1_000_000,
    renderLimit: 5_000,
    memoryLimit: 50_000_000,
  });
  for (const tag of ['include', 'render', 'layout', 'block']) delete engine.tags[tag];
  return { engine, LiquidError };
});

interface TemplateProblem {
  message: string;
  /** Within the template; null when the trouble is with the whole. */
  line: number | null;
  hint: string | null;
}

export function renderPrompt(name: string, template: string, context: object): string {
  const rendered = tryRender(template, context);
  if (typeof rendered === 'string') return rendered;
  const place = rendered.line === null ? '' : `, line ${rendered.line}`;
  throw new UserError(`The ${name} prompt can't be rendered${place}: ${rendered.message}.`, rendered.hint);
}

/** What is wrong with a template, found before it is needed: in every branch, not only those the sample takes. */
export function checkPrompt(template: string, sample: object): TemplateProblem[] {
  const { engine } = liquid();
  let parsed: Template[];
  let analysis: StaticAnalysis;
  try {
    parsed = engine.parse(template);
    analysis = engine.analyzeSync(parsed, { partials: false });
  } catch (error) {
    return [explain(error, sample)];
  }
  const unknown = Object.values(analysis.globals)
    .flat()
    .filter(({ segments }) => !resolves(segments, sample));
  if (unknown.length > 0)
    return unknown
      .map(({ segments, location }) => unknownVariable(String(segments.join('.')), location.row, sample))
      .sort((a, b) => (a.line ?? 0) - (b.line ?? 0));
  const rendered = tryRender(template, sample);
  return typeof rendered === 'string' ? [] : [rendered];
}

function tryRender(template: string, context: object): string | TemplateProblem {
  const { engine } = liquid();
  try {
    const rendered: string = engine.renderSync(engine.parse(template), context);
    if (rendered.length <= MAX_CHARS) return rendered;
    return {
      message: `it is longer than ${MAX_CHARS} characters`,
      line: null,
      hint: 'Name less, or shorten it with truncate.',
    };
  } catch (error) {
    return explain(error, context);
  }
}

function explain(error: unknown, context: object): TemplateProblem {
  const { engine, LiquidError } = liquid();
  if (!LiquidError.is(error)) return { message: (error as Error).message, line: null, hint: null };
  const line = error.token.getPosition()[0] ?? 1;
  const cause = error.originalError as { variableName?: string; message: string } | undefined;
  if (cause?.variableName !== undefined) return unknownVariable(cause.variableName, line, context);
  const message = cause?.message ?? error.message.replace(/, line:\d+, col:\d+$/, '');
  const filter = /^undefined filter: (.+)$/.exec(message)?.[1];
  if (filter === undefined) return { message, line, hint: null };
  return {
    message: `unknown filter "${filter}"`,
    line,
    hint: suggestion(filter, Object.keys(engine.filters)),
  };
}

function unknownVariable(name: string, line: number, context: object): TemplateProblem {
  const known = variableNames(context, '');
  const hint = suggestion(name, [...known, ...Object.keys(context)]) ?? `It may name: ${known.join(', ')}.`;
  return { message: `unknown variable "${name}"`, line, hint };
}

function suggestion(name: string, known: readonly string[]): string | null {
  const close = nearest(name, known);
  return close && `Did you mean "${close}"?`;
}

function variableNames(value: object, prefix: string): string[] {
  return Object.entries(value).flatMap(([name, below]) =>
    isMap(below) ? variableNames(below, `${prefix}${name}.`) : [`${prefix}${name}`],
  );
}

/** Walks as far as the sample is a plain object; lists, texts and computed names are left to the test render. */
function resolves(segments: readonly unknown[], sample: object): boolean {
  let value: unknown = sample;
  for (const segment of segments) {
    if (!isMap(value) || typeof segment !== 'string') return true;
    if (!Object.hasOwn(value, segment)) return false;
    value = value[segment];
  }
  return true;
}

function once<T>(make: () => T): () => T {
  let made: T | undefined;
  return () => {
    made ??= make();
    return made;
  };
}
