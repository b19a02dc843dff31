/** All that keeps WORKFLOW.md from being used, told at once: nobody should have to fix it line by line. */
import { count } from '../core/words/words.ts';
import { ConfigError, type ConfigProblem } from '../errors.ts';
import type { BadFrontMatter } from '../front-matter.ts';

/** One error is told in one line with its advice; several are a list in the order of the file. Warnings are for `doctor`. */
export function configError(
  file: string,
  kind: ConfigError['kind'],
  found: readonly ConfigProblem[],
  options?: ErrorOptions,
): ConfigError {
  const problems = [...found].sort((a, b) => a.line - b.line);
  const errors = problems.filter(({ level }) => level === 'error');
  const [first] = errors;
  const { line, key } = first!;
  const warned = problems.length - errors.length;
  const more = warned > 0 ? `${count(warned, 'warning')}: run \`forge-loop doctor\`` : null;
  const [message, hint] =
    errors.length === 1
      ? [problemText(file, first!), [first!.hint, more].filter((one) => one !== null).join(' ') || null]
      : [listed(file, errors, more), null];
  const error = new ConfigError(kind, message, { file, line, key }, hint, options);
  error.problems = problems;
  return error;
}

export function frontMatterError(file: string, bad: BadFrontMatter): ConfigError {
  const problems = bad.problems.map(
    (one): ConfigProblem => ({ level: 'error', key: null, hint: null, ...one, ...OF_SETTINGS[bad.kind] }),
  );
  return configError(file, bad.kind === 'unclosed' ? 'yaml' : bad.kind, problems, { cause: bad });
}

/** What is said otherwise, because the front matter is settings. */
const OF_SETTINGS: Record<BadFrontMatter['kind'], Partial<ConfigProblem>> = {
  unclosed: {
    text: 'the front matter is never closed',
    hint: 'Write a line with only --- after the settings.',
  },
  not_a_map: {
    text: 'the front matter must be a map of settings (key: value)',
    hint: 'Write for example "agent:" and below it "  max_turns: 20".',
  },
  yaml: {},
};

export const problemText = (file: string, { line, text }: ConfigProblem): string =>
  `${file}:${line}: ${text}`;

const listed = (file: string, errors: readonly ConfigProblem[], more: string | null): string =>
  [
    `${file} has ${errors.length} errors:`,
    ...errors.map(({ line, text, hint }) => `  line ${line}: ${text}${hint ? `. ${hint}` : ''}`),
    ...(more === null ? [] : [`  ${more}`]),
  ].join('\n');

/** The same in one line, where there is only one. */
export function inOneLine({ message, hint }: { message: string; hint?: string | null }): string {
  const text = message.replace(/:\n +/, ': ').replace(/\n +/g, ' · ');
  return hint ? `${text} ${hint}` : text;
}
