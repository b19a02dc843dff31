/**
 * The words of zod that the inputs of operations are said in. Only these are named: whoever takes all of zod as a value
 * makes every command load its translations.
 */
import { array, boolean, type core, number, object, enum as oneOf, string, union } from 'zod';

export const z = { array, boolean, enum: oneOf, number, object, string, union };

/** The first thing that is wrong with an input, for whoever typed it. */
export function problemOf(issue: core.$ZodIssue): string {
  const field = issue.path.join('.') || 'the input';
  if (issue.code === 'invalid_value') return `${field} must be one of ${issue.values.join(', ')}`;
  if (issue.code === 'too_small')
    return issue.origin === 'string'
      ? `${field} is empty`
      : `${field} must be ${issue.inclusive ? 'at least' : 'more than'} ${issue.minimum}`;
  if (issue.code === 'too_big' && issue.origin !== 'string')
    return `${field} must be at most ${issue.maximum}`;
  return `${field}: ${issue.message}`;
}
