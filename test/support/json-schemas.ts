/** The published schemas, to hold real outputs to. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Ajv2020 } from 'ajv/dist/2020.js';

export const SCHEMAS = fileURLToPath(new URL('../../schema/json/v1/', import.meta.url));

type Schema = Record<string, unknown>;

/** Readers must take further fields for granted; here one that no schema has is a mistake. */
function closed(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(closed);
  if (typeof schema !== 'object' || schema === null) return schema;
  const inner = Object.fromEntries(Object.entries(schema).map(([key, one]) => [key, closed(one)]));
  return 'properties' in schema && !('additionalProperties' in schema)
    ? { ...inner, additionalProperties: false }
    : inner;
}

let compiled: Ajv2020 | null = null;

function open(): Ajv2020 {
  const ajv = new Ajv2020({ allErrors: true });
  for (const name of readdirSync(SCHEMAS))
    ajv.addSchema(closed(JSON.parse(readFileSync(join(SCHEMAS, name), 'utf8'))) as Schema, name);
  return ajv;
}

/** What of a value, as JSON, is not as the schema of this name says. */
export function schemaProblems(name: string, value: unknown): string[] {
  compiled ??= open();
  const validate = compiled.getSchema(`${name}.json`);
  if (!validate) return [`${name} has no schema`];
  if (validate(JSON.parse(JSON.stringify(value)))) return [];
  return (validate.errors ?? []).map(
    ({ instancePath, message, params }) => `${name}${instancePath} ${message} ${JSON.stringify(params)}`,
  );
}
