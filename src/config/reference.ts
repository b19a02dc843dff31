/** The reference page, made from the schema so that it can't fall behind: an example of the whole file, then each key. */

import { CREDENTIAL_ENTRIES, TOOLCHAIN_ENTRIES, TOOLCHAIN_VARIABLES } from '../core/access/toolchains.ts';
import type { PromptKind } from '../core/event.ts';
import { SAMPLE_CONTEXTS } from '../core/words/prompt-context.ts';
import { exampleWorkflow } from './example.ts';
import { type ConfigKey, configJsonSchema, configKeys, type JsonSchema } from './keys.ts';
import { isMap } from './map.ts';

export function configReference(): string {
  return `# Configuration: WORKFLOW.md

<!-- Generated from src/config/schema.ts. Change it there, then run: UPDATE_DOCS=1 npx vitest run src/config -->

One file at the root of your repository: settings between two \`---\` lines, and below them the prompt of the first turn. Every key has a default, so
write only what you want to change. This example shows every key with its default; a commented-out key has none, and shows an example.

\`\`\`\`markdown
${exampleWorkflow()}\`\`\`\`

${RULES}
## Keys

${Object.entries(sections()).map(sectionText).join('\n')}
## One gate for several tasks

Approved tasks line up, each candidate on top of the one ahead. By default each is tested, so every commit of trunk has passed the gate itself.
\`merge.queue: { ahead: 8, batch: true }\` tests only the last in line, for all of them: eight tasks land by one gate instead of eight.

- **Use it** when a gate takes an hour, or can't run next to another, and most approved tasks pass. \`ahead\` is the size of the largest batch. Tasks
  that line up while a gate runs are in the next batch; no batch waits to fill up.
- **Do not use it** where gates are fast or failures are common: a failing batch is bisected, one gate at a time. The first failing task goes back to
  its coder, who is told whether it fails alone or only with others. Those ahead of it land; those behind it are tested again.
- **What it weakens**: a commit inside a batch was tested only together with those behind it. While the batch lands, trunk is at such commits, and
  stays there if the rest can't follow, because a person pushes to trunk or to one of the branches in that second. The rest is then tested anew. A
  deploy or a \`git bisect\` of yours may see such a commit. Approvals are still of each task's own head.

\`why\` and the events say what was tested together: \`together with #7 and #9 at 1a2b3c4d5e\`. If the forge has its own merge queue, or requires
up-to-date heads, tasks land one at a time, without batches. With \`recovery.mode: manual\`, a task whose runner died during the gate waits for a
person, and the others continue.

## What a child gets of your environment and home

Agents, gate commands, hooks and the deploy command do not inherit your environment. They get \`PATH\`, \`LANG\`, \`LC_ALL\`, \`TZ\` and \`TMPDIR\`, what
\`env.pass\` and \`env.set\` name, and a private home. Unless \`env.toolchains\` is \`false\`, they also get these of your variables (never one whose name
looks like a secret):

${list(TOOLCHAIN_VARIABLES)}

and in the private home these entries of yours, files as copies and folders as links:

${list(TOOLCHAIN_ENTRIES)}

Whatever tools write stays private: \`CARGO_HOME\`, \`GOPATH\` and every cache are in the private home, so no task leaves anything for another. A link
leads to your own folder: without a sandbox, a child can write there. Entries that may hold credentials are offered only if \`env.home_entries\` names
them:

${list(CREDENTIAL_ENTRIES)}

The loop sets \`HOME\`, \`XDG_*_HOME\`, \`GIT_*\` and \`FORGE_*\` itself. Only \`deploy.pass_env\`, which is for the deploy command alone, may name them. What
an agent itself needs (its provider's credential, its folders) overrides \`env\`. With \`env.home: operator\` everything in your home is there.

After a change of \`env\` in this file the gate runs anew. After a change of a passed variable's _value_ it does not: earlier results still count.
\`forge-loop doctor --gate\` runs the gate on trunk again; \`forge-loop resume\` tries only a gate that could not run.

## Variables of the prompts

An unknown variable or filter is an error when the file is loaded. Prompts that continue a session have no \`issue.body\`, because the agent has read
it. Every prompt has these:

${list(COMMON)}

| prompt | written as | also |
|---|---|---|
${(Object.keys(SAMPLE_CONTEXTS) as PromptKind[]).map(variablesRow).join('\n')}
`;
}

const RULES = `## Rules

- The file is \`WORKFLOW.md\` at the root of the repository, or the one given with \`--config\` or to \`run\`. It is read from your checkout, never from a
  task's workspace. A file that does not begin with \`---\` is a task prompt without settings.
- Changes take effect while the loop runs; those of \`tracker\`, \`workspace\`, \`webhook\` and \`trust\` at the next start. If the file is broken, or \`run\`
  would refuse to start with it (a missing agent, an unreadable script, an unavailable sandbox), the last good settings stay in force, and \`status\`,
  \`why\`, \`doctor\` and the log say what is wrong.
- A wrong value is an error that names file, line and key. An unknown key is ignored with a warning, as is a wrong limit under
  \`agent.max_concurrent_by_state\`, whose names may be in any case. A key without a value counts as missing.
- \`~\` and \`$VAR\` (or \`\${VAR}\`) are expanded only where a key says so. Commands and hooks keep their dollars for the shell. If a variable is not set
  or empty, its key counts as missing, with a warning.
- A file written for Symphony loads once \`tracker.kind\` is \`github\` or \`local\`. Its other names (\`codex.command\`, \`agent.max_concurrent_agents\` …) are
  read as ours, or ignored with a warning that names the nearest key ([ADR 44](adr/0044-symphony.md)).
- Templates are [Liquid](https://liquidjs.com), strict, without \`include\`, \`render\` and \`layout\`.
- \`forge-loop config --json\` prints every key with the value in force and where it comes from.
- \`schema/workflow.schema.json\` is the JSON Schema of the front matter, for editors.
`;

function sections(): Record<string, JsonSchema> {
  return configJsonSchema().properties ?? {};
}

function keysOf(section: string): ConfigKey[] {
  const keys = configKeys().filter(({ key }) => key === section || key.startsWith(`${section}.`));
  if (section !== 'roles') return keys;
  const first = keys[0]?.key.split('.')[1];
  return keys
    .filter(({ key }) => key.split('.')[1] === first)
    .map((row) => ({ ...row, key: row.key.replace(`.${first}.`, '.<role>.') }));
}

function sectionText([name, node]: [string, JsonSchema]): string {
  const roles =
    name === 'roles'
      ? ` Roles: ${Object.keys(node.properties ?? {})
          .map(code)
          .join(', ')}.`
      : '';
  const rows = keysOf(name).map(
    (row) => `| ${code(row.key)} | ${cell(row.type)} | ${defaultText(row)} | ${cell(row.description)} |`,
  );
  const lead = isLeaf(node) ? '' : `${node.description ?? ''}${roles}\n\n`;
  return `### \`${name}\`\n\n${lead}| key | type | default | meaning |\n|---|---|---|---|\n${rows.join('\n')}\n`;
}

const list = (names: readonly string[]): string => names.map(code).join(', ');

const isLeaf = (node: JsonSchema): boolean =>
  !node.properties && !node.anyOf?.some((option) => option.properties);
const code = (text: string): string => `\`${text}\``;
const cell = (text: string): string => text.replaceAll('|', '\\|');

function defaultText({ key, default: value }: ConfigKey): string {
  if (key.startsWith('roles.')) return "`agent`'s";
  if (key.startsWith('prompts.')) return 'built in';
  if (value === null || value === undefined) return '–';
  return code(typeof value === 'string' ? value : JSON.stringify(value).replaceAll(',', ', '));
}

function variablesRow(kind: PromptKind): string {
  const written = kind === 'task' ? 'the body of the file' : code(`prompts.${kind}`);
  return `| ${kind} | ${written} | ${list(variablesOf(kind).filter((name) => !COMMON.includes(name)))} |`;
}

const variablesOf = (kind: PromptKind): string[] =>
  Object.entries(SAMPLE_CONTEXTS[kind]).flatMap(([name, value]) =>
    isMap(value) ? Object.keys(value).map((below) => `${name}.${below}`) : [name],
  );

const [FIRST, ...OTHERS] = Object.keys(SAMPLE_CONTEXTS) as [PromptKind, ...PromptKind[]];
const COMMON = variablesOf(FIRST).filter((name) => OTHERS.every((kind) => variablesOf(kind).includes(name)));
