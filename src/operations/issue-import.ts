/** Drafts become issues: each file is one, its title in the front matter or on the first line. */
import type { Context } from '../context.ts';
import { type Readiness, readiness } from '../core/issue/readiness.ts';
import { planReadiness } from '../core/plan/start.ts';
import { UserError } from '../errors.ts';
import { BadFrontMatter, readFrontMatter } from '../front-matter.ts';
import { newIssue } from './issues.ts';
import { draftIn } from './lint.ts';

interface Draft {
  file: string;
  text: string;
}

interface Imported {
  file: string;
  number: number;
  title: string;
  /** What the rules say about it. */
  decision: Readiness['decision'];
}

/** All are looked at before the first is written: half an import would have to be cleaned up by hand. */
export async function importIssues(
  context: Context,
  { files, ready }: { files: Draft[]; ready: boolean },
): Promise<Imported[]> {
  const drafts = files.map(({ file, text }) => ({ file, ...draftIn(text), ...factsIn(file, text) }));
  const untitled = drafts.find(({ title }) => title === '');
  if (untitled)
    throw new UserError(
      `${untitled.file} has no title; nothing was imported.`,
      'Write it on the first line, or as `title:` in its front matter.',
    );
  const made: Imported[] = [];
  for (const { file, title, body, labels, priority } of drafts) {
    const issue = await newIssue(context, { title, body, labels, priority, blockedBy: [], ready });
    made.push({
      file,
      number: issue.number,
      title,
      decision: (planReadiness(body) ?? readiness(title, body)).decision,
    });
  }
  return made;
}

/** Labels and priority, where the front matter has them; the rest of it is some other program's. */
function factsIn(file: string, text: string): { labels: string[]; priority: number | undefined } {
  const { labels, priority } = valuesIn(file, text);
  const listed = typeof labels === 'string' ? labels.split(',') : Array.isArray(labels) ? labels : [];
  const isPriority = typeof priority === 'number' && [1, 2, 3, 4].includes(priority);
  return {
    labels: listed.map((label) => String(label).trim()).filter((label) => label !== ''),
    priority: isPriority ? priority : undefined,
  };
}

function valuesIn(file: string, text: string): Record<string, unknown> {
  try {
    return readFrontMatter(text).values;
  } catch (error) {
    if (!(error instanceof BadFrontMatter)) throw error;
    // A draft may begin with a line across the page.
    if (error.kind === 'unclosed') return {};
    throw new UserError(`${file}:${error.line}: ${error.message}; nothing was imported.`, null, {
      cause: error,
    });
  }
}
