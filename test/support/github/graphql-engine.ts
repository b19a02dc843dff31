/**
 * GraphQL on the schema that GitHub publishes. What is asked is checked against it, so a misspelt field or a wrong argument
 * fails here as it would there; what is answered is checked against it as well.
 */
import { readFileSync } from 'node:fs';
import {
  buildSchema,
  type DocumentNode,
  execute,
  type GraphQLError,
  type GraphQLFieldResolver,
  type GraphQLSchema,
  parse,
  validate,
} from 'graphql';
import { limitProblems } from './graphql-limits.ts';

/** A node of the answer: its type, and its fields as values or as functions of their arguments. */
export interface Node {
  __typename: string;
  [field: string]: unknown;
}

/** Thrown where a field is resolved: null beside an error of GitHub's form, while the rest of the answer stands. */
export class GraphqlProblem extends Error {
  override name = 'GraphqlProblem';
  readonly type: string;
  constructor(message: string, type: string) {
    super(message);
    this.type = type;
  }
}

interface GraphqlAnswer {
  data?: unknown;
  errors?: Record<string, unknown>[];
}

export async function runGraphql(input: {
  source: string;
  variables: Record<string, unknown>;
  root: { query: Node; mutation: Node };
  /** What no test should have asked or this server should not have answered. */
  report(deviation: string): void;
}): Promise<GraphqlAnswer> {
  const { source, variables, root, report } = input;
  let document: DocumentNode;
  try {
    document = parse(source);
  } catch (problem) {
    report(`GraphQL: ${(problem as Error).message}`);
    return { errors: [shown(problem as GraphQLError)] };
  }
  const schema = published();
  const invalid = validate(schema, document);
  if (invalid.length > 0) {
    for (const { message } of invalid) report(`GraphQL: ${message}`);
    return { errors: invalid.map(shown) };
  }
  const excessive = limitProblems(schema, document, variables);
  if (excessive.length > 0) return { errors: excessive };
  const operation = document.definitions.find((one) => one.kind === 'OperationDefinition');
  const { data, errors = [] } = await execute({
    schema,
    document,
    variableValues: variables,
    rootValue: operation?.operation === 'mutation' ? root.mutation : root.query,
    fieldResolver: known,
  });
  for (const { message, path, originalError } of errors) {
    if (!(originalError instanceof GraphqlProblem)) report(`GraphQL: ${message} (${path?.join('.') ?? ''})`);
  }
  return { data, ...(errors.length > 0 ? { errors: errors.map(shown) } : {}) };
}

/** A field that the schema has and this server does not is no null: nobody knows what GitHub would say. */
const known: GraphQLFieldResolver<Node, unknown> = (node, args, _context, { fieldName, parentType }) => {
  if (!(fieldName in node)) throw new Error(`the test server does not know ${parentType.name}.${fieldName}`);
  const value = node[fieldName];
  return typeof value === 'function' ? (value as (args: unknown) => unknown)(args) : value;
};

let schema: GraphQLSchema | undefined;

/** Once in a process, and only where something is asked: it takes half a second. */
function published(): GraphQLSchema {
  if (schema) return schema;
  const at = new URL('../../../node_modules/@octokit/graphql-schema/schema.graphql', import.meta.url);
  // GitHub's own schema needs no proof, and takes as long to prove as to build.
  schema = buildSchema(readFileSync(at, 'utf8'), {
    assumeValid: true,
    assumeValidSDL: true,
    noLocation: true,
  });
  return schema;
}

/** Errors as GitHub shows them. Its words for a field that is not there differ from those of graphql-js. */
function shown(error: GraphQLError): Record<string, unknown> {
  const { message, path, locations, originalError } = error;
  const place = { ...(path ? { path } : {}), ...(locations ? { locations } : {}) };
  if (originalError instanceof GraphqlProblem) return { type: originalError.type, ...place, message };
  const [, field, type] = /^Cannot query field "(\w+)" on type "(\w+)"/.exec(message) ?? [];
  if (field === undefined) return { ...place, message };
  return {
    ...place,
    extensions: { code: 'undefinedField', typeName: type, fieldName: field },
    message: `Field '${field}' doesn't exist on type '${type}'`,
  };
}
