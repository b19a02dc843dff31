/** The schema seen as a list of keys: what may be written, of which type, with which default. */
import { z } from 'zod';
import { workflowSchema } from './schema.ts';

export interface ConfigKey {
  /** The full path, joined by dots. */
  key: string;
  type: string;
  default: unknown;
  description: string;
  example: unknown;
}

/** The JSON Schema that editors use; unknown keys are flagged there, as they are warned about here. */
export function configJsonSchema(): JsonSchema {
  cached ??= z.toJSONSchema(workflowSchema, {
    io: 'input',
    override: ({ jsonSchema }) => {
      if (jsonSchema.properties) jsonSchema.additionalProperties = false;
    },
  }) as JsonSchema;
  return cached;
}

/** Every key that holds a value, in the order of the schema. */
export function configKeys(): ConfigKey[] {
  return leaves(configJsonSchema(), []);
}

/** What may stand at a path: null when the schema does not know it. */
export function schemaAt(path: readonly PropertyKey[]): JsonSchema | null {
  let node: JsonSchema | null = configJsonSchema();
  for (const step of path) node = node && child(node, String(step));
  return node;
}

/**
 * The keys of a map with their own schemas; null where any name goes or none does. Told by the schema itself: its JSON
 * Schema takes longer to make than a command takes to answer.
 */
export function keysOf(schema: z.core.$ZodType): Readonly<Record<string, z.core.$ZodType>> | null {
  const { def } = (schema as z.core.$ZodTypes)._zod;
  if (def.type === 'object') return def.shape;
  if (def.type === 'union') return def.options.map(keysOf).find((keys) => keys !== null) ?? null;
  return 'innerType' in def ? keysOf(def.innerType) : null;
}

/** What every name of a map stands for, where any name goes; null elsewhere. */
export function valuesOf(schema: z.core.$ZodType): z.core.$ZodType | null {
  const { def } = (schema as z.core.$ZodTypes)._zod;
  if (def.type === 'record') return def.valueType;
  return 'innerType' in def ? valuesOf(def.innerType) : null;
}

/** A type in words: `whole number ≥ 1`, `one of "clone", "worktree"`. */
export function typeText(node: JsonSchema): string {
  if (node.anyOf)
    return [...new Set(node.anyOf.filter((option) => option.type !== 'null').map(typeText))].join(' or ');
  if (node.const !== undefined) return JSON.stringify(node.const);
  if (node.enum) {
    const options = node.enum.map((option) => JSON.stringify(option)).join(', ');
    return node.enum.length === 1 ? options : `one of ${options}`;
  }
  if (node.type === 'integer') return `whole number ≥ ${node.minimum}`;
  if (node.type === 'number') return 'number > 0';
  if (node.type === 'boolean') return 'true or false';
  if (node.type === 'array') return `list of ${node.items ? typeText(node.items) : 'text'}`;
  if (node.type === 'object') return node.properties || isOpen(node) ? 'map' : 'map of text';
  return 'text';
}

/** Its values may be anything. */
const isOpen = ({ additionalProperties: each }: JsonSchema): boolean =>
  typeof each === 'object' && Object.keys(each).length === 0;

/** The words that may stand there, where only some may. */
export const choices = (node: JsonSchema): string[] =>
  [...(node.enum ?? []), node.const, ...(node.anyOf ?? []).flatMap(choices)].filter(
    (choice) => typeof choice === 'string',
  );

export interface JsonSchema {
  type?: string;
  title?: string;
  description?: string;
  default?: unknown;
  examples?: unknown[];
  const?: unknown;
  enum?: unknown[];
  minimum?: number;
  maximum?: number;
  anyOf?: JsonSchema[];
  items?: JsonSchema;
  properties?: Record<string, JsonSchema>;
  additionalProperties?: boolean | JsonSchema;
}

let cached: JsonSchema | null = null;

function leaves(node: JsonSchema, path: string[]): ConfigKey[] {
  const map = asMap(node);
  if (map?.properties)
    return Object.entries(map.properties).flatMap(([name, below]) => leaves(below, [...path, name]));
  return [
    {
      key: path.join('.'),
      type: typeText(node),
      default: node.default,
      description: node.description ?? '',
      example: node.examples?.[0],
    },
  ];
}

function child(node: JsonSchema, step: string): JsonSchema | null {
  const list = node.anyOf?.find((option) => option.items) ?? node;
  if (list.items) return list.items;
  const map = asMap(node);
  const named = map?.properties && Object.hasOwn(map.properties, step) ? map.properties[step] : undefined;
  if (named) return named;
  return typeof map?.additionalProperties === 'object' ? map.additionalProperties : null;
}

const asMap = (node: JsonSchema): JsonSchema | undefined =>
  node.type === 'object' ? node : node.anyOf?.find((option) => option.type === 'object');
