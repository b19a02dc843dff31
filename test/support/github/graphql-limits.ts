/**
 * What GitHub refuses before it looks anything up: a connection without a size, one that is too large, and a query for too
 * many nodes. https://docs.github.com/en/graphql/overview/rate-limits-and-query-limits-for-the-graphql-api#node-limit
 */
import {
  type DocumentNode,
  type FieldNode,
  type GraphQLSchema,
  getNamedType,
  isInterfaceType,
  isObjectType,
  type SelectionSetNode,
} from 'graphql';

const MOST_NODES = 500_000;
const LARGEST_PAGE = 100;

export function limitProblems(
  schema: GraphQLSchema,
  document: DocumentNode,
  variables: Record<string, unknown>,
): { type: string; message: string }[] {
  const problems: { type: string; message: string }[] = [];
  const fragments = new Map(
    document.definitions.flatMap((one) =>
      one.kind === 'FragmentDefinition' ? [[one.name.value, one] as const] : [],
    ),
  );

  const sizeOf = (field: FieldNode): { by: string; size: number } | null => {
    for (const { name, value } of field.arguments ?? []) {
      if (name.value !== 'first' && name.value !== 'last') continue;
      if (value.kind === 'IntValue') return { by: name.value, size: Number(value.value) };
      const given = value.kind === 'Variable' ? variables[value.name.value] : null;
      if (typeof given === 'number') return { by: name.value, size: given };
    }
    return null;
  };
  /** How many nodes there could be below `times` parents. */
  const count = (selection: SelectionSetNode | undefined, typeName: string, times: number): number => {
    let nodes = 0;
    for (const one of selection?.selections ?? []) {
      if (one.kind === 'InlineFragment')
        nodes += count(one.selectionSet, one.typeCondition?.name.value ?? typeName, times);
      else if (one.kind === 'FragmentSpread') {
        const fragment = fragments.get(one.name.value);
        nodes += count(fragment?.selectionSet, fragment?.typeCondition.name.value ?? typeName, times);
      } else nodes += countField(one, typeName, times);
    }
    return nodes;
  };
  const countField = (field: FieldNode, typeName: string, times: number): number => {
    const parent = schema.getType(typeName);
    if (!isObjectType(parent) && !isInterfaceType(parent)) return 0;
    const definition = parent.getFields()[field.name.value];
    if (!definition) return 0;
    const inner = getNamedType(definition.type).name;
    if (!definition.args.some(({ name }) => name === 'first') || !inner.endsWith('Connection'))
      return count(field.selectionSet, inner, times);
    const page = sizeOf(field);
    const name = field.name.value;
    if (page === null) {
      const message = `You must provide a \`first\` or \`last\` value to properly paginate the \`${name}\` connection.`;
      problems.push({ type: 'MISSING_PAGINATION_BOUNDARIES', message });
      return 0;
    }
    if (page.size > LARGEST_PAGE) {
      const message = `Requesting ${page.size} records on the \`${name}\` connection exceeds the \`${page.by}\` limit of ${LARGEST_PAGE} records.`;
      problems.push({ type: 'EXCESSIVE_PAGINATION', message });
    }
    return times * page.size + count(field.selectionSet, inner, times * page.size);
  };

  for (const one of document.definitions) {
    if (one.kind !== 'OperationDefinition') continue;
    const nodes = count(one.selectionSet, one.operation === 'mutation' ? 'Mutation' : 'Query', 1);
    if (nodes > MOST_NODES) {
      const asked = nodes.toLocaleString('en-US');
      const message = `This query requests up to ${asked} possible nodes which exceeds the maximum limit of ${MOST_NODES.toLocaleString('en-US')}.`;
      problems.push({ type: 'MAX_NODE_LIMIT_EXCEEDED', message });
    }
  }
  return problems;
}
