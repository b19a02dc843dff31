/**
 * GitHub's published description of its REST API, as much of it as is in openapi.json. Every request to the test server and
 * every answer of its own is held to it: an unknown route, an unknown or wrong parameter, a field that is missing, has another
 * type or is our invention.
 */
import { readFileSync } from 'node:fs';
import { Ajv, type ValidateFunction } from 'ajv';
import ajvFormats from 'ajv-formats';
import type { Answer } from './answer.ts';

/** As much of a schema of OpenAPI 3.0 as is looked at here; ajv looks at the rest. */
interface Schema {
  $ref?: string;
  type?: string;
  format?: string;
  nullable?: boolean;
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  additionalProperties?: boolean | Schema;
  anyOf?: Schema[];
  oneOf?: Schema[];
  allOf?: Schema[];
}

interface Parameter {
  name: string;
  in: string;
  required?: boolean;
  schema: Schema;
}

interface Described<T> {
  $ref?: string;
  content?: Record<string, T>;
}

interface Operation {
  parameters?: (Parameter & { $ref?: string })[];
  requestBody?: Described<{ schema: Schema }>;
  responses: Record<string, Described<{ schema: Schema }>>;
}

interface Description {
  paths: Record<string, Record<string, Operation>>;
  components: {
    schemas: Record<string, Schema>;
    parameters: Record<string, Parameter>;
    responses: Record<string, Described<{ schema: Schema }>>;
  };
}

interface Place {
  method: string;
  /** Below the API's address, without the query. */
  path: string;
}

interface Asked extends Place {
  query: URLSearchParams;
  /** Undefined when nothing was sent. */
  body: unknown;
}

/** What GitHub's description does not know about this request. */
export function requestProblems(asked: Asked): string[] {
  const found = operationFor(asked.method, asked.path);
  if (!found) return ['openapi.json has no such route'];
  const { operation, params } = found;
  const parameters = (operation.parameters ?? []).map((one) => resolved(one, 'parameters') as Parameter);
  const problems = parameters.flatMap((one) => {
    const given =
      one.in === 'path' ? params[one.name] : one.in === 'query' ? asked.query.get(one.name) : null;
    if (given !== null && given !== undefined)
      return mismatches(one.schema, typed(one.schema, given), one.name);
    return one.required && one.in === 'query' ? [`${one.name} is missing`] : [];
  });
  for (const name of asked.query.keys()) {
    if (!parameters.some((one) => one.in === 'query' && one.name === name))
      problems.push(`${name} is no parameter`);
  }
  if (asked.body === undefined) return problems;
  const schema = operation.requestBody?.content?.['application/json']?.schema;
  if (!schema) return [...problems, 'it takes no body'];
  return [...problems, ...mismatches(schema, asked.body, 'body'), ...inventions(schema, asked.body, 'body')];
}

/** What GitHub's description does not know about this answer. Redirects and "not modified" have nothing to describe. */
export function answerProblems({ method, path }: Place, { status, body, text }: Answer): string[] {
  if (text !== undefined || (status >= 300 && status < 400)) return [];
  const schema = answerSchema(method, path, status);
  if (status >= 400) {
    const errors = ['basic-error', 'validation-error', 'validation-error-simple'].map(component);
    const forms = schema ? [schema, ...errors] : errors;
    return forms.some((one) => mismatches(one, body, '').length === 0) ? [] : mismatches(forms[0]!, body, '');
  }
  if (schema === undefined) return [`${status} is no answer of this route`];
  if (schema === null) return body === undefined ? [] : ['the answer should have no body'];
  return [...mismatches(schema, body, 'answer'), ...inventions(schema, body, 'answer')];
}

/**
 * The addresses and ids that GitHub puts into everything and that say nothing of what happened. Whatever else an answer
 * needs, the world has to know.
 */
export function withAddresses({ method, path }: Place, answer: Answer, origin: string): Answer {
  const schema = answerSchema(method, path, answer.status);
  if (!schema || answer.status >= 300 || answer.text !== undefined) return answer;
  const fill = (given: Schema, value: unknown): unknown => {
    const shape = resolved(given, 'schemas') as Schema;
    if (Array.isArray(value))
      return value.map((one) => fill(shape.items ?? branchOf(shape).items ?? {}, one));
    if (typeof value !== 'object' || value === null) return value;
    const { properties = {}, required = [] } = branchOf(shape);
    const row = value as Record<string, unknown>;
    const filled = Object.entries(row).map(([key, one]) => [key, fill(properties[key] ?? {}, one)]);
    const missing = required.filter((key) => !(key in row) && /(^|_)(urls?|node_id|links)$/.test(key));
    return Object.fromEntries([
      ...filled,
      ...missing.map((key) => [key, placeholder(key, properties[key] ?? {}, `${origin}${path}`)]),
    ]);
  };
  return { ...answer, body: fill(schema, answer.body) };
}

function placeholder(key: string, given: Schema, at: string): unknown {
  const shape = branchOf(resolved(given, 'schemas') as Schema);
  if (shape.nullable) return null;
  if (key.endsWith('node_id')) return `N_${Buffer.from(at).toString('base64url')}`;
  if (shape.type !== 'object') return `${at}#${key}`;
  return Object.fromEntries(
    (shape.required ?? []).map((name) => [name, placeholder(name, shape.properties?.[name] ?? {}, at)]),
  );
}

/** Where a schema leaves a choice, what the objects among it have in common with a row is in the first of them. */
function branchOf(shape: Schema): Schema {
  const choices = shape.anyOf ?? shape.oneOf ?? shape.allOf;
  const found = choices
    ?.map((one) => resolved(one, 'schemas') as Schema)
    .find((one) => one.type === 'object' || one.type === 'array' || one.allOf !== undefined);
  return found ? branchOf(found) : shape;
}

let description: Description | undefined;

/** Once in a process. */
function published(): Description {
  if (description) return description;
  description = JSON.parse(readFileSync(new URL('openapi.json', import.meta.url), 'utf8')) as Description;
  return description;
}

const component = (name: string): Schema => ({ $ref: `#/components/schemas/${name}` });

function resolved<T extends { $ref?: string }>(one: T, kind: keyof Description['components']): T {
  return one.$ref === undefined
    ? one
    : (published().components[kind][one.$ref.slice(one.$ref.lastIndexOf('/') + 1)] as unknown as T);
}

const operations = new Map<string, { operation: Operation; params: Record<string, string> } | null>();

function operationFor(method: string, path: string) {
  const key = `${method} ${path}`;
  const known = operations.get(key);
  if (known !== undefined) return known;
  let found: { operation: Operation; params: Record<string, string>; literal: number } | null = null;
  for (const [template, methods] of Object.entries(published().paths)) {
    const operation = methods[method.toLowerCase()];
    const match = operation && patternOf(template).exec(path);
    if (!match) continue;
    // Of two that fit, the one with more words of its own: /issues/comments is no issue.
    const literal = template.replace(/\{\w+\}/g, '').length;
    const params = match.groups ?? {};
    if (!found || literal > found.literal) found = { operation, params, literal };
  }
  operations.set(key, found);
  return found;
}

const patterns = new Map<string, RegExp>();

/** A name of a branch may hold slashes. */
function patternOf(template: string): RegExp {
  const known = patterns.get(template);
  if (known) return known;
  const source = template.replace(/\{(\w+)\}/g, (_whole, name: string) =>
    name === 'ref' || name === 'branch' ? `(?<${name}>.+)` : `(?<${name}>[^/]+)`,
  );
  const pattern = new RegExp(`^${source}$`);
  patterns.set(template, pattern);
  return pattern;
}

/** Null for an answer without a body, undefined for one that is not described. */
function answerSchema(method: string, path: string, status: number): Schema | null | undefined {
  const given = operationFor(method, path)?.operation.responses[String(status)];
  if (!given) return undefined;
  return resolved(given, 'responses').content?.['application/json']?.schema ?? null;
}

/** A query is text: what is meant depends on who reads it. */
function typed(given: Schema, text: string): unknown {
  const { type, anyOf, oneOf } = resolved(given, 'schemas') as Schema;
  const types = [type, ...(anyOf ?? oneOf ?? []).map((one) => one.type)];
  if ((types.includes('integer') || types.includes('number')) && /^-?\d+$/.test(text)) return Number(text);
  if (types.includes('boolean') && /^(true|false)$/.test(text)) return text === 'true';
  if (type === 'array') return text.split(',');
  return text;
}

const ajv = new Ajv({ strict: false, allErrors: true, logger: false });
ajvFormats.default(ajv);
const validators = new WeakMap<Schema, ValidateFunction>();
const byName = new Map<string, Schema>();

function mismatches(given: Schema, value: unknown, where: string): string[] {
  const name = given.$ref?.slice(given.$ref.lastIndexOf('/') + 1);
  const key = name === undefined ? given : (byName.get(name) ?? given);
  if (name !== undefined) byName.set(name, key);
  const validate = validators.get(key) ?? ajv.compile(jsonSchema(given) as object);
  validators.set(key, validate);
  if (validate(value)) return [];
  const errors = validate.errors ?? [];
  return errors.map((error) => {
    const detail = error.params.allowedValues ?? error.params.additionalProperty ?? '';
    return `${where}${error.instancePath} ${error.message} ${detail}`.trim();
  });
}

/** OpenAPI 3.0 says `nullable`, JSON Schema says it with a type. Each component is known to ajv by its name. */
function jsonSchema(given: unknown): unknown {
  if (Array.isArray(given)) return given.map(jsonSchema);
  if (typeof given !== 'object' || given === null) return given;
  const { $ref } = given as Schema;
  if ($ref !== undefined) {
    const name = $ref.slice($ref.lastIndexOf('/') + 1);
    if (!added.has(name)) {
      added.add(name);
      ajv.addSchema(jsonSchema(published().components.schemas[name]) as object, name);
    }
    return { $ref: name };
  }
  const shape = Object.fromEntries(
    Object.entries(given)
      .filter(([key, value]) => key !== 'nullable' || typeof value === 'object')
      .map(([key, value]) => [key, key === 'enum' ? value : jsonSchema(value)]),
  );
  return (given as Schema).nullable === true ? { anyOf: [{ type: 'null' }, shape] } : shape;
}

const added = new Set<string>();

/** Fields that no form of the schema names. */
function inventions(given: Schema, value: unknown, where: string): string[] {
  const forms = formsOf(given);
  if (Array.isArray(value)) {
    const items = forms.flatMap(({ items: one }) => (one ? [one] : []));
    if (items.length === 0) return [];
    return value.flatMap((one, index) => inventions({ anyOf: items }, one, `${where}/${index}`));
  }
  if (typeof value !== 'object' || value === null) return [];
  const objects = forms.filter(({ properties }) => properties !== undefined);
  const isOpen = forms.some((one) => one.additionalProperties && one.additionalProperties !== true);
  if (objects.length === 0 || isOpen) return [];
  return Object.entries(value).flatMap(([key, one]) => {
    const known = objects.flatMap(({ properties }) => properties?.[key] ?? []);
    if (known.length === 0) return [`${where}/${key} is not in GitHub's description`];
    return inventions({ anyOf: known }, one, `${where}/${key}`);
  });
}

function formsOf(given: Schema): Schema[] {
  const shape = resolved(given, 'schemas') as Schema;
  const more = [...(shape.anyOf ?? []), ...(shape.oneOf ?? []), ...(shape.allOf ?? [])].flatMap(formsOf);
  return [shape, ...more];
}
