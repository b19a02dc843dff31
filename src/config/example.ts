/** A complete WORKFLOW.md: each key with its default, or commented out with an example where the default is nothing. */
import { configJsonSchema, type JsonSchema } from './keys.ts';
import { isMap } from './map.ts';

export function exampleWorkflow(): string {
  const sections = Object.entries(configJsonSchema().properties ?? {}).map(([name, node]) =>
    sectionText(name, node),
  );
  return `---\n${sections.join('\n')}---\n${BODY}`;
}

const BODY = `You are working on issue #{{ issue.number }}: {{ issue.title }}

{{ issue.body }}

Work on branch {{ task.branch }}. Add tests, keep the change small, never write secrets into files. Do not push.
`;

function sectionText(name: string, node: JsonSchema): string {
  const properties = (node.anyOf?.find((option) => option.properties) ?? node).properties;
  if (!properties) return keyText(name, node, '');
  const below =
    name === 'roles'
      ? ROLES
      : Object.entries(properties)
          .map(([key, value]) => keyText(key, value, '  '))
          .join('');
  return `# ${node.description}\n${name}:\n${below}`;
}

const ROLES = '  # critic:\n  #   model: opus\n';

function keyText(name: string, node: JsonSchema, indent: string): string {
  const says = node.default != null && !(isMap(node.default) && Object.keys(node.default).length === 0);
  const line = says
    ? `${indent}${name}:${yaml(node.default, indent)}`
    : `${indent}# ${name}:${yaml(node.examples?.[0], indent)}`;
  return `${indent}# ${node.description}\n${line}\n`;
}

/** JSON is YAML; plain words need no quotes, and a long list is easier to read as lines. */
function yaml(value: unknown, indent: string): string {
  if (Array.isArray(value) && value.length > 3) return value.map((item) => `\n${indent}  - ${item}`).join('');
  if (typeof value === 'string' && /^[A-Za-z][\w:-]*$/.test(value)) return ` ${value}`;
  if (isMap(value))
    return ` { ${Object.entries(value)
      .map(([name, item]) => `${name}: ${JSON.stringify(item)}`)
      .join(', ')} }`;
  return ` ${JSON.stringify(value).replaceAll('","', '", "')}`;
}
