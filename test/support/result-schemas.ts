/**
 * JSON Schemas of all that is printed with `--json` or answered over HTTP, made from the types of the code by TypeScript's own
 * checker. What JSON has no form for (functions, `undefined`) is left out, as JSON does.
 */
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import type { ISSUE_STORY } from '../../src/cli/demo/issue-story.ts';
import type { PLAN_STORY } from '../../src/cli/demo/plan-story.ts';
import type { Serving } from '../../src/context.ts';
import type { LoopEvent } from '../../src/core/event.ts';
import type { Task } from '../../src/core/task.ts';
import type { ConfigProblem } from '../../src/errors.ts';
import type { Envelope } from '../../src/http/envelope.ts';
import type { Doing } from '../../src/http/stream.ts';
import type { Refreshed, State, Tracked } from '../../src/http/symphony.ts';
import type { EventView } from '../../src/operations/loop.ts';
import type { RunSummary } from '../../src/operations/run-summary.ts';
import { OPERATIONS, type OperationName, type Result } from '../../src/operations.ts';

/** By the name of the file. Those of operations have their name. */
// biome-ignore lint/correctness/noUnusedVariables: the checker finds it by its name
type Outputs = { [N in OperationName]: Result<N> } & Others;

interface Others {
  dashboard: Pick<Serving, 'url' | 'link'>;
  demo: Report<typeof ISSUE_STORY> | Report<typeof PLAN_STORY>;
  error: { error: { message: string; hint: string | null; problems?: ConfigProblem[] } };
  'events.line': Omit<EventView, 'name' | 'says'> & Partial<Pick<EventView, 'name' | 'says'>>;
  'http.doing': Record<string, Doing>;
  'http.error': Envelope;
  'logs.line': Pick<Turn, 'role' | 'turn' | 'sessionId'> & Turn['entries'][number];
  'replay.differences': Result<'replay'>['differences'];
  'run.summary': { summary: RunSummary & { exitCode: number } };
  'symphony.issue': Tracked;
  'symphony.refresh': Refreshed;
  'symphony.state': State;
  'task.export.written': { file: string; events: number };
}

type Report<Story extends { text(report: never, ...rest: never[]): string }> = Parameters<Story['text']>[0];
type Turn = Result<'logs'>['turns'][number];

/** What is stored as it is: its fields are not promised. */
// biome-ignore lint/correctness/noUnusedVariables: the checker finds it by its name
type AsStored = [Task, LoopEvent, LoopEvent['data']];

const SAYS: Record<keyof Others, string> = {
  dashboard: 'What `dashboard --json` prints: the address, and the link that logs in.',
  demo: 'What `demo --json` prints.',
  error: 'What any command prints to standard error with `--json` when it fails.',
  'events.line': 'A line of `events --json` and `run --json`, and the data of an event of the HTTP stream.',
  'http.doing': 'The data of a `doing` event of the HTTP stream, by task.',
  'http.error': 'What the HTTP API answers when it refuses.',
  'logs.line': 'A line of `logs --follow --json`.',
  'replay.differences': 'What `replay <file> --verify --json` prints.',
  'run.summary': 'The last line of `run --json`.',
  'symphony.issue': 'The answer of `GET /api/v1/<issue or plan>`.',
  'symphony.refresh': 'The answer of `POST /api/v1/refresh`.',
  'symphony.state': 'The answer of `GET /api/v1/state`.',
  'task.export.written': 'What `task export --json` prints when it wrote a file.',
};

type Schema = Record<string, unknown>;

const root = fileURLToPath(new URL('../../', import.meta.url));
const HERE = fileURLToPath(import.meta.url);
const DRAFT = 'https://json-schema.org/draft/2020-12/schema';

/** The files of schema/json/v1, by name. */
export function resultSchemas(): Record<string, Schema> {
  const { outputs, types } = ordered(readTypes());
  const files = Object.entries(outputs).map(([name, schema]) => {
    const description =
      name in OPERATIONS ? OPERATIONS[name as OperationName].description : SAYS[name as keyof Others];
    return [name, { $schema: DRAFT, title: name, description, ...schema }] as const;
  });
  return { ...Object.fromEntries(files), types: { $schema: DRAFT, $defs: types } };
}

/** The checker's own order changes with what it looked at before. */
function ordered<T>(schema: T, key = ''): T {
  const text = (one: unknown): string => JSON.stringify(one);
  if (Array.isArray(schema)) {
    const all = schema.map((one) => ordered(one));
    return (key === 'prefixItems' ? all : all.sort((a, b) => (text(a) < text(b) ? -1 : 1))) as T;
  }
  if (typeof schema !== 'object' || schema === null) return schema;
  const entries = Object.entries(schema).map(([name, one]) => [name, ordered(one, name)] as const);
  return Object.fromEntries(NAMING.has(key) ? entries.sort(([a], [b]) => (a < b ? -1 : 1)) : entries) as T;
}

const NAMING: ReadonlySet<string> = new Set(['properties', 'types']);

function readTypes(): { outputs: Record<string, Schema>; types: Record<string, Schema> } {
  const { config } = ts.readConfigFile(join(root, 'tsconfig.json'), ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, root);
  const program = ts.createProgram([HERE], { ...options, noEmit: true });
  const checker = program.getTypeChecker();
  const alias = (wanted: 'Outputs' | 'AsStored'): ts.Type => {
    const found = program
      .getSourceFile(HERE)!
      .statements.filter(ts.isTypeAliasDeclaration)
      .find(({ name }) => name.text === wanted);
    return checker.getTypeFromTypeNode(found!.type);
  };
  const asStored = new Set(checker.getTypeArguments(alias('AsStored') as ts.TypeReference));
  const named = new Map<ts.Type, { name: string; file: string; schema: Schema; refs: Schema[] }>();

  function schemaOf(type: ts.Type): Schema {
    if (asStored.has(type)) return { type: 'object' };
    const symbol = nameOf(type);
    if (!symbol) return plainSchema(type);
    const known = named.get(type) ?? { ...symbol, schema: {}, refs: [] };
    const ref: Schema = {};
    known.refs.push(ref);
    if (!named.has(type)) {
      named.set(type, known);
      Object.assign(known.schema, plainSchema(type));
    }
    return ref;
  }

  function plainSchema(type: ts.Type): Schema {
    const { flags } = type;
    if (flags & ts.TypeFlags.Never) return { not: {} };
    if (flags & (ts.TypeFlags.Any | ts.TypeFlags.Unknown)) return {};
    if (type.isStringLiteral() || type.isNumberLiteral()) return { const: type.value };
    if (flags & ts.TypeFlags.BooleanLiteral) return { const: checker.typeToString(type) === 'true' };
    if (flags & ts.TypeFlags.StringLike) return { type: 'string' };
    if (flags & ts.TypeFlags.NumberLike) return { type: 'number' };
    if (flags & ts.TypeFlags.BooleanLike) return { type: 'boolean' };
    if (flags & ts.TypeFlags.Null) return { type: 'null' };
    if (type.isUnion()) return unionSchema(type.types);
    if (type.isIntersection() && type.types.some(({ flags }) => flags & ts.TypeFlags.StringLike))
      return { type: 'string' };
    if (flags & (ts.TypeFlags.Object | ts.TypeFlags.Intersection)) return objectSchema(type);
    throw new Error(`${checker.typeToString(type)} has no form in JSON`);
  }

  function unionSchema(types: readonly ts.Type[]): Schema {
    const schemas = types.filter(isTold).map(schemaOf);
    const constants = schemas.flatMap((one) => ('const' in one ? [one.const] : []));
    const rest = schemas.filter((one) => !('const' in one));
    const isBoolean = constants.includes(true) && constants.includes(false);
    const values = isBoolean ? constants.filter((one) => typeof one !== 'boolean') : constants;
    const all = [
      ...(isBoolean ? [{ type: 'boolean' }] : []),
      ...(values.length > 1 ? [{ enum: values }] : values.map((one) => ({ const: one }))),
      ...rest.filter((one) => one.type !== 'null'),
      ...rest.filter((one) => one.type === 'null').slice(0, 1),
    ];
    return all.length === 1 ? all[0]! : { anyOf: all };
  }

  function objectSchema(type: ts.Type): Schema {
    if (checker.isTupleType(type))
      return { type: 'array', prefixItems: checker.getTypeArguments(type as ts.TypeReference).map(schemaOf) };
    if (checker.isArrayType(type))
      return { type: 'array', items: schemaOf(checker.getTypeArguments(type as ts.TypeReference)[0]!) };
    const properties: Record<string, Schema> = {};
    const required: string[] = [];
    for (const property of checker.getPropertiesOfType(type)) {
      const inner = checker.getTypeOfSymbol(property);
      if (!isTold(inner)) continue;
      const isOptional = Boolean(property.flags & ts.SymbolFlags.Optional) || mayBeUndefined(inner);
      properties[property.name] = schemaOf(inner);
      if (!isOptional) required.push(property.name);
    }
    const values = type.getStringIndexType();
    return {
      type: 'object',
      ...(Object.keys(properties).length > 0 ? { properties } : {}),
      ...(required.length > 0 ? { required } : {}),
      ...(values ? { additionalProperties: schemaOf(values) } : {}),
    };
  }

  const mayBeUndefined = (type: ts.Type): boolean =>
    type.isUnion() && type.types.some(({ flags }) => flags & ts.TypeFlags.Undefined);
  const isTold = (type: ts.Type): boolean =>
    !(type.flags & (ts.TypeFlags.Undefined | ts.TypeFlags.Void)) && type.getCallSignatures().length === 0;

  /** Of what the code gives a name, and only one form. */
  function nameOf(type: ts.Type): { name: string; file: string } | null {
    const isWhole = type.aliasSymbol ? !type.aliasTypeArguments : !(type as ts.TypeReference).typeArguments;
    const symbol = type.aliasSymbol ?? (type.flags & ts.TypeFlags.Object ? type.symbol : undefined);
    const [declaration] = symbol?.declarations ?? [];
    if (!symbol || !declaration || !isWhole || symbol.name.startsWith('__')) return null;
    const { fileName } = declaration.getSourceFile();
    return fileName.includes('/src/') ? { name: symbol.name, file: basename(fileName, '.ts') } : null;
  }

  const outputs = Object.fromEntries(
    checker
      .getPropertiesOfType(alias('Outputs'))
      .map((property) => [property.name, schemaOf(checker.getTypeOfSymbol(property))]),
  );
  const types: Record<string, Schema> = {};
  for (const { name, file, schema, refs } of named.values()) {
    const isAlone = [...named.values()].filter((one) => one.name === name).length === 1;
    const key = isAlone ? name : `${file}.${name}`;
    if (key in types) throw new Error(`two types are called ${key}`);
    types[key] = schema;
    for (const ref of refs) ref.$ref = `types.json#/$defs/${key}`;
  }
  return { outputs, types };
}
