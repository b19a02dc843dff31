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

One file at the root of your repository: settings between two \`---\` lines, below them the prompt of the first turn. Every
key has a default, so you write only what you want different. This example has them all, as they are when you leave them
out; a line that begins with \`# \` and a key has no default, and shows what you could write.

\`\`\`\`markdown
${exampleWorkflow()}\`\`\`\`

${RULES}
## Keys

${Object.entries(sections()).map(sectionText).join('\n')}
## One gate for several tasks

Approved tasks line up, each candidate on top of the one ahead. By default each is tested, \`gate.max_concurrent\` at a time, and
every commit of trunk has passed the gate itself. \`merge.queue: { ahead: 8, batch: true }\` tests only the last in line, for all
of them: eight tasks land by one gate instead of eight.

- **Use it** when a gate takes an hour, or can't run beside another, and most approved tasks pass. \`ahead\` is the most
  that one gate tests. Tasks that line up while it runs are in the next batch; no batch waits to fill up.
- **Do not use it** where gates are fast or failures are common: a failing batch is bisected, one gate at a time. The first failing
  task goes back to its coder, who is told whether it fails alone or only together with others. Those ahead of it land; those
  behind it are tested again without it.
- **What it weakens**: a commit inside a batch was tested only together with those behind it. Each commit that lands is contained in
  one that passed, by the commands of all its tasks; but trunk is at untested commits while the batch lands, and stays there when
  the rest can't follow: a person pushes to one of them in that second, or to trunk. What is left in line is then tested anew before it lands.
  A deploy may see such a commit, and so does a bisection of yours. The approval is still of exactly each task's own head.

\`why\` and the events say with whom and where it was tested: \`together with #7 and #9 at 1a2b3c4d5e\`. A forge that merges by a
queue of its own, or wants heads up to date, gets one task at a time, and nothing is batched. With
\`recovery.mode: manual\`, a task whose runner died while it was tested waits for a person, and the others go on without it.

## What a child gets of your environment and home

Agents, gate commands, hooks and the deploy command inherit nothing. They get \`PATH\`, \`LANG\`, \`LC_ALL\`, \`TZ\` and \`TMPDIR\`,
what \`env.pass\` and \`env.set\` say, and a private home. Unless \`env.toolchains\` is \`false\` they also get these of your
variables, where you have them (never one whose name looks like a secret):

${list(TOOLCHAIN_VARIABLES)}

and in a private home these entries of yours, a small file as a copy and a folder as a link:

${list(TOOLCHAIN_ENTRIES)}

Whatever tools write stays private: \`CARGO_HOME\`, \`GOPATH\` and every cache are in the private home, so that no task leaves
anything there for another. A link leads to your own folder: where nothing is confined, a child can write there. Entries that
hold credentials, or may, are offered only if \`env.home_entries\` names them:

${list(CREDENTIAL_ENTRIES)}

The loop sets \`HOME\`, \`XDG_*_HOME\`, \`GIT_*\` and \`FORGE_*\` itself: they can't be passed or set, except that
\`deploy.pass_env\`, which adds to \`env\` for the deploy command alone, may name them. What an agent needs itself (its provider's
credential, its own folders) goes before \`env\`. With \`env.home: operator\` nothing is offered, since everything is there.

Changing \`env\` in this file makes the gate run anew. Changing the _value_ of a variable that is passed does not: what passed
or failed with the old value still counts. \`forge-loop doctor --gate\` runs the gate on trunk again;
\`forge-loop resume\` tries only a gate that could not run.

## Variables of the prompts

A template may name these and nothing else; an unknown variable or filter is an error when the file is loaded. The
prompts that continue a session have no \`issue.body\`: the agent has read it already.

| prompt | written as | variables |
|---|---|---|
${(Object.keys(SAMPLE_CONTEXTS) as PromptKind[]).map(variablesRow).join('\n')}
`;
}

const RULES = `## Rules

- The file is \`WORKFLOW.md\` in the working directory, or the one given with \`--config\` or to \`run\`. It is read from your checkout,
  never from a task's workspace. Without a \`---\` line at its beginning the whole file is the task prompt.
- A change is taken up while the loop runs. A file that is broken, or that \`run\` would refuse to start with (an agent that is
  not there, a script that can't be read, a sandbox that is not available), leaves the last good settings in force; \`status\`, \`why\`,
  \`doctor\` and the log say what is wrong, and the new one is used once that is fixed. \`tracker\`, \`workspace\`, \`webhook\` and \`trust\` are read at start only.
- A wrong value is an error that names file, line and key. An unknown key is ignored with a warning, and so is a wrong
  limit under \`agent.max_concurrent_by_state\`, whose names may be written in any case. A key without a value counts as not given.
- \`~\` and \`$VAR\` (or \`\${VAR}\`) are expanded in \`workspace.root\`, \`agent.script\` and \`roles.<role>.script\`. A value under
  \`tracker.provider\` that is \`$VAR\` and nothing else is taken from the environment. Nowhere else: commands and hooks keep
  their dollars for the shell. A variable that is not set, or is empty, makes its key count as not given, with a warning.
- A file written for Symphony loads once \`tracker.kind\` is \`github\` or \`local\`. Its other names (\`codex.command\`, \`agent.max_concurrent_agents\` …) are read as
  ours, or ignored with a warning that names the nearest key ([ADR 44](adr/0044-symphony.md)).
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
  const names = Object.entries(SAMPLE_CONTEXTS[kind]).flatMap(([name, value]) =>
    isMap(value) ? Object.keys(value).map((below) => `${name}.${below}`) : [name],
  );
  return `| ${kind} | ${written} | ${names.map(code).join(', ')} |`;
}
