/** What an operation takes, as JSON Schema. */
import { toJSONSchema } from 'zod';
import { OPERATIONS, type OperationName } from '../operations.ts';

interface InputSchema {
  type: 'object';
  properties?: Record<string, { type?: string | string[] }>;
  required?: string[];
}

const known = new Map<OperationName, InputSchema>();

export function inputSchema(name: OperationName): InputSchema {
  const found = known.get(name);
  if (found) return found;
  const { $schema: _, ...schema } = toJSONSchema(OPERATIONS[name].input, {
    io: 'input',
    unrepresentable: 'any',
  });
  known.set(name, schema as InputSchema);
  return schema as InputSchema;
}
