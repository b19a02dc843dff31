/**
 * The words of zod that the inputs of operations are said in. Only these are named: whoever takes all of zod as a value
 * makes every command load its translations.
 */
import { array, boolean, number, object, enum as oneOf, string, union } from 'zod';

export const z = { array, boolean, enum: oneOf, number, object, string, union };
