/** What an operation takes from others than the command line, as JSON Schema. */
import { toJSONSchema } from 'zod';
import { OPERATIONS, type OperationName } from '../operations.ts';

interface InputSchema {
  type: 'object';
  properties: Record<string, { type?: string | string[] }>;
  required: string[];
}

const known = new Map<OperationName, InputSchema>();

export function inputSchema(name: OperationName): InputSchema {
  const found = known.get(name);
  if (found) return found;
  const { input, operatorOnly } = OPERATIONS[name];
  const { $schema: _, ...whole } = toJSONSchema(input, { io: 'input', unrepresentable: 'any' });
  const { properties = {}, required = [], ...rest } = whole as InputSchema;
  const offered = (key: string): boolean => !operatorOnly.includes(key);
  const schema: InputSchema = {
    ...rest,
    properties: Object.fromEntries(Object.entries(properties).filter(([key]) => offered(key))),
    required: required.filter(offered),
  };
  known.set(name, schema);
  return schema;
}
