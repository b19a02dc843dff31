/**
 * What WORKFLOW.md's front matter may say. Every key has a default and a description; the reference page, the JSON
 * Schema, the unknown-key warnings and the words of an error all come from here.
 */
import { z } from 'zod';
import { destinationOf, domainProblem, isLoopback, NETWORK_PRESETS } from '../core/access/network.ts';
import type { SecretUser } from '../core/access/secret.ts';
import { isOurs, TOOLCHAIN_VARIABLES } from '../core/access/toolchains.ts';
import { SEVERITIES } from '../core/change/findings.ts';
import type { PromptKind } from '../core/event.ts';
import { AGENT_KINDS, type Labels, TOOL_SERVER } from '../core/policy.ts';
import { ROLES } from '../core/role.ts';
import { CHANNEL_KINDS, NOTICE_KINDS } from '../core/tell/notify.ts';

// A process parses its settings once: compiling the schema first takes longer than that.
z.config({ jitless: true });

const ACP_PRESETS = ['claude-agent-acp', 'codex-acp', 'opencode', 'gemini'] as const;

/** States with a limit of their own. */
export const LIMITED_STATES = ['running', 'revising'] as const;

export const GATE_TIMEOUT_MS = 600_000;
export const GATES_AT_ONCE = 4;

const PROTECTED_PATHS = [
  'WORKFLOW.md',
  '.forge/',
  '.claude/',
  '.codex/',
  '.opencode/',
  'opencode.json',
  'opencode.jsonc',
  '.gemini/',
  '.cursor/',
  '.mcp.json',
  '.lfsconfig',
  '.github/workflows/',
  '.github/actions/',
  '.gitlab-ci.yml',
  '.circleci/',
];

const text = z.string().trim().min(1);
/** In the worktree, and none of git's own. */
const below = text.refine(
  (path) => path.split('/').every((part) => !/^(\.{0,2}|\.git)$/i.test(part)),
  'must be a path below the worktree, and not in .git',
);
const skillName = text.regex(/^\w[\w.-]*$/, 'must be the name of a folder in `loop.skills`');
const count = z.int().min(1);
/** A longer timer would wrap around and fire at once. */
const LONGEST_MS = 2_147_483_647;
const milliseconds = z.int().min(1).max(LONGEST_MS);
/** 0 is any time. */
const patience = z.int().min(0).max(LONGEST_MS);
const shell = z.string().refine((script) => script.trim() !== '', 'must not be empty');

function optional<T extends z.ZodType>(schema: T, description: string, example: unknown) {
  return schema
    .nullable()
    .default(null)
    .meta({ description, examples: [example] });
}

const agentKeys = {
  kind: z.enum(AGENT_KINDS),
  command: shell,
  script: text,
  preset: z.enum(ACP_PRESETS),
  model: text,
  fallback_models: z.array(text).max(5),
  effort: text,
  tool_calls: z.int().min(0),
  forge_requests: z.int().min(0),
  turn_timeout_ms: milliseconds,
  stall_timeout_ms: patience,
  tool_timeout_ms: patience,
  repeated_calls: z.int().min(0),
};

const dollars = z.number().min(0);
const price = z.object({
  input: dollars.describe('Input that is not cached.'),
  output: dollars.describe('Output, reasoning included.'),
  cache_read: dollars.describe('Input read from the cache.'),
  cache_write: dollars.describe('Input written to the cache.'),
});

const domain = text.superRefine((given, problems) => {
  const problem = given in NETWORK_PRESETS || given === 'npm' ? null : domainProblem(given);
  if (problem) problems.addIssue({ code: 'custom', message: problem });
});
/** `none` says more than an empty list. */
const network = z.union([z.enum(['host', 'any', 'none']), z.array(domain)]);

const OWN_VARIABLE = 'the loop sets this variable itself';
const variable = z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'must be the name of a variable');

/** Of a map of variables: each name is one that may be set. */
function nameVariables(given: object, problems: z.RefinementCtx): void {
  for (const name of Object.keys(given)) {
    const message = isOurs(name) ? OWN_VARIABLE : variable.safeParse(name).error?.issues[0]?.message;
    if (message) problems.addIssue({ code: 'custom', path: [name], message });
  }
}

/** What agents make tool names of: `mcp__docs__search`, `docs_search`. */
const SERVER_NAME = /^[A-Za-z][A-Za-z0-9-]{0,31}$/;

const mcpServer = z.object({
  command: z
    .array(z.string().min(1))
    .min(1)
    .superRefine(([program = ''], problems) => {
      const message =
        'the program must be one on the PATH or an absolute path: another one would be taken from the branch';
      if (program.includes('/') && !program.startsWith('/'))
        problems.addIssue({ code: 'custom', path: [0], message });
    })
    .describe('The program and its arguments; no shell reads them.'),
  env: z
    .record(z.string(), z.string())
    .default({})
    .superRefine(nameVariables)
    .describe('Extra variables for it; a value may be `$VAR`, which keeps secrets out of the file.'),
});

const mcp = z
  .record(z.string(), mcpServer)
  .default({})
  .superRefine((given, problems) => {
    for (const name of Object.keys(given)) {
      const message = !SERVER_NAME.test(name)
        ? 'the name of a server is at most 32 letters, digits and hyphens, and begins with a letter'
        : name.toLowerCase() === TOOL_SERVER
          ? `"${TOOL_SERVER}" is the server of the loop's own tools: choose another name`
          : null;
      if (message) problems.addIssue({ code: 'custom', path: [name], message });
    }
  })
  .meta({
    description:
      'MCP servers by name; `roles.<role>.access.mcp` grants them to a role. `command` is the program and its arguments, as a list; there is no shell. `env` has extra variables for it; a value may be `$VAR`, which keeps secrets out of the file. See docs/agents.md.',
    examples: [{ docs: { command: ['npx', '-y', 'some-docs-server'], env: { DOCS_LANGUAGE: 'en' } } }],
  });

const QUIET_HOURS = /^(none|([01]\d|2[0-3]):[0-5]\d-([01]\d|2[0-3]):[0-5]\d)$/;
const quietHours = text.regex(QUIET_HOURS, 'must be two times of day, such as 22:00-07:00, or none');

const timeZone = text.refine((zone) => {
  try {
    return Boolean(new Intl.DateTimeFormat('en', { timeZone: zone }));
  } catch {
    return false;
  }
}, 'must be the name of a time zone, such as Europe/Berlin');

/** At most a day: what waits longer is given up. */
const digest = z.int().min(0).max(86_400_000);

const channel = z.object({
  kind: z.enum(CHANNEL_KINDS).describe('What it is.'),
  events: z
    .array(z.enum(NOTICE_KINDS))
    .default([...NOTICE_KINDS])
    .describe('Which events it gets; default: all.'),
  url: optional(text, 'Its address, as `$VAR`.', '$SLACK_WEBHOOK'),
  secret: optional(text, 'The key that signs a webhook, as `$VAR`.', '$WEBHOOK_SECRET'),
  token: optional(text, 'The access token of ntfy, as `$VAR`.', '$NTFY_TOKEN'),
  command: optional(shell, 'A shell command that reads the message, as JSON.', './notify.sh'),
  pass_env: z.array(variable).default([]).describe('Variables of yours that the command gets.'),
  digest_ms: digest.optional().describe('In place of `notify.digest_ms`.'),
  quiet_hours: quietHours.optional().describe('In place of `notify.quiet_hours`.'),
});

const notify = z
  .object({
    channels: z
      .record(z.string(), channel)
      .default({})
      .superRefine((given, problems) => {
        for (const name of Object.keys(given))
          if (!SERVER_NAME.test(name))
            problems.addIssue({
              code: 'custom',
              path: [name],
              message:
                'the name of a channel is at most 32 letters, digits and hyphens, and begins with a letter',
            });
      })
      .meta({
        description: `Channels that notify people, by name. \`kind\` is ${CHANNEL_KINDS.map((kind) => `\`${kind}\``).join(', ')}; \`events\` lists what it gets (${NOTICE_KINDS.map((kind) => `\`${kind}\``).join(', ')}; default: all). \`url\`, \`secret\` and \`token\` are only ever written as \`$VAR\`. A channel's own \`digest_ms\` and \`quiet_hours\` override the common ones. See docs/notifications.md.`,
        examples: [{ phone: { kind: 'ntfy', url: '$NTFY_URL', events: ['needs_you', 'loop_held'] } }],
      }),
    digest_ms: digest
      .default(300_000)
      .describe('After a message, everything within this time goes into one. 0: each is sent at once.'),
    quiet_hours: quietHours.default('none').meta({
      description:
        'When nothing is sent, such as `22:00-07:00`. What came up is sent afterwards, as one message.',
      examples: ['22:00-07:00'],
    }),
    time_zone: optional(
      timeZone,
      'The time zone of `quiet_hours`. Default: that of this machine.',
      'Europe/Berlin',
    ),
  })
  .prefault({})
  .describe('Who is notified, of what, and when.');

const access = z.object({
  read: z
    .array(text)
    .default([])
    .meta({ description: 'More paths that it may read.', examples: [['~/specifications']] }),
  write: z
    .array(text)
    .default([])
    .meta({ description: 'More paths that it may write to.', examples: [['~/.cache/models']] }),
  network: network.optional().meta({
    description:
      'Hosts it may reach, in addition to its model. Default: for the coder `sandbox.network`, for others none. A program of your own (`agent.command`, ACP without a preset) with no key that the gateway can hold is on the network of this machine; with `sandbox: required` this key must then be set.',
    examples: [['npm', 'docs.example.org']],
  }),
  mcp: z
    .array(text)
    .default([])
    .meta({
      description:
        'Servers of `mcp` that it gets, with all their tools (`docs`) or only the ones named (`tracker/search`). Nothing else is loaded, whatever the branch says.',
      examples: [['docs', 'tracker/search']],
    }),
});

const role = z.object({
  kind: agentKeys.kind.optional().describe('Overrides `agent.kind`.'),
  command: agentKeys.command.optional().describe('Overrides `agent.command`.'),
  script: agentKeys.script.optional().describe('Overrides `agent.script`.'),
  preset: agentKeys.preset.optional().describe('Overrides `agent.preset`.'),
  model: agentKeys.model.optional().describe('Overrides `agent.model`.'),
  fallback_models: agentKeys.fallback_models.optional().describe('Overrides `agent.fallback_models`.'),
  effort: agentKeys.effort.optional().describe('Overrides `agent.effort`.'),
  tool_calls: agentKeys.tool_calls.optional().describe('Overrides `agent.tool_calls`.'),
  forge_requests: agentKeys.forge_requests.optional().describe('Overrides `agent.forge_requests`.'),
  turn_timeout_ms: agentKeys.turn_timeout_ms.optional().describe('Overrides `agent.turn_timeout_ms`.'),
  stall_timeout_ms: agentKeys.stall_timeout_ms.optional().describe('Overrides `agent.stall_timeout_ms`.'),
  tool_timeout_ms: agentKeys.tool_timeout_ms.optional().describe('Overrides `agent.tool_timeout_ms`.'),
  repeated_calls: agentKeys.repeated_calls.optional().describe('Overrides `agent.repeated_calls`.'),
  access: access.prefault({}).describe('What else it may touch when confined: see docs/security.md.'),
});

const roles = z.object(
  Object.fromEntries(ROLES.map((name) => [name, role.optional()])) as Record<
    (typeof ROLES)[number],
    z.ZodOptional<typeof role>
  >,
);

const labels = z
  .object({
    ready: text.default('loop:ready').describe('Set by a person: the loop may work on this issue.'),
    running: text.default('loop:running').describe('Replaces the ready label while a task is under way.'),
    needs_review: text.default('loop:needs-review').describe('The loop abandoned it; a person should look.'),
    needs_spec: text.default('loop:needs-spec').describe('Its author has to answer questions.'),
    blocked: text.default('loop:blocked').describe('The critic judged the approach wrong or harmful.'),
    abandon: text.default('loop:abandon').describe('Set by a person: end the task at once.'),
    merged: text.default('loop:merged').describe('The work is on trunk.'),
  } satisfies Record<Snake<keyof Labels>, z.ZodType>)
  .superRefine((given, problems) => {
    const seen = new Map<string, string>();
    for (const [key, label] of Object.entries(given)) {
      const twin = seen.get(label.toLowerCase());
      const message = `must differ from labels.${twin}`;
      if (twin) problems.addIssue({ code: 'custom', path: [key], message });
      seen.set(label.toLowerCase(), key);
    }
  });

const allowance = (usd: number, tokens: number) =>
  z.object({
    usd: optional(z.number().positive(), 'US dollars.', usd),
    tokens: optional(count, 'Tokens, in and out.', tokens),
  });

const variables = {
  pass: z
    .array(variable.refine((name) => !isOurs(name), OWN_VARIABLE))
    .default([])
    .meta({ description: 'Names of your variables that they get.', examples: [['REGISTRY_URL']] }),
  set: z
    .record(z.string(), z.string())
    .default({})
    .superRefine(nameVariables)
    .meta({ description: 'Variables with a fixed value.', examples: [{ RUSTFLAGS: '-D warnings' }] }),
};

const variablesOf = (whose: string) =>
  z
    .object(variables)
    .prefault({})
    .meta({
      description: `The same for ${whose} only, in addition.`,
      examples: [{ pass: ['REGISTRY_URL'] }],
    });

const env = z.object({
  toolchains: z
    .boolean()
    .default(true)
    .describe(
      'Pass the variables, and offer the entries of your home, that toolchains and networks need: see the lists below. `false`: only what you name.',
    ),
  ...variables,
  home: z
    .enum(['private', 'operator'])
    .default('private')
    .describe(
      '`private`: one home per role of a task and one for its commands; the final gate gets an empty one. `operator`: your own home: anything a task runs can read your credentials and change what you and later tasks start.',
    ),
  home_entries: z
    .array(
      z
        .string()
        .regex(
          /^(?!~)(?!.*(?:^|\/)\.{1,2}(?:\/|$))[^/]+(?:\/[^/]+)*$/,
          'must be a path below your home, such as `.npmrc`',
        ),
    )
    .default([])
    .meta({
      description:
        'More entries of your home that a private one gets: files as copies, folders as links to yours.',
      examples: [['.npmrc', '.m2/settings.xml']],
    }),
  roles: variablesOf('agents'),
  gates: variablesOf('the setup and the commands of the gate'),
  hooks: variablesOf('hooks'),
});

/** What builds fetch their dependencies from. */
export const REGISTRIES = [
  'npm',
  'yarn',
  'pypi',
  'crates',
  'go',
  'maven',
  'rubygems',
  'nuget',
  'packagist',
] as const;

const secretHost = text.superRefine((given, problems) => {
  const isPlain = destinationOf(given, 443) !== null && !(given in NETWORK_PRESETS) && given !== 'npm';
  const problem = given.includes('*')
    ? 'must be one host: a secret is sent to no host that you did not name'
    : (domainProblem(given) ?? (isPlain ? null : 'must be a host, such as `api.example.org`'));
  if (problem) problems.addIssue({ code: 'custom', message: problem });
});

const SECRET_USERS = [...ROLES, 'gate', 'hooks'] as const satisfies readonly SecretUser[];

const secret = z
  .strictObject({
    command: shell.optional(),
    env: variable.optional(),
    host: z.union([secretHost, z.array(secretHost).min(1)]),
    for: z.array(z.enum(SECRET_USERS)).min(1).optional(),
  })
  .refine(({ command, env }) => (command === undefined) !== (env === undefined), {
    error: 'must have either `command`, which prints it, or `env`, a variable of the loop',
  });

const secrets = z
  .record(z.string(), secret)
  .default({})
  .superRefine((given, problems) => {
    for (const name of Object.keys(given)) {
      const isTaken = isOurs(name) || TOOLCHAIN_VARIABLES.includes(name);
      const message = isTaken ? OWN_VARIABLE : variable.safeParse(name).error?.issues[0]?.message;
      if (message) problems.addIssue({ code: 'custom', path: [name], message });
    }
  })
  .meta({
    description:
      'Secrets that the project may use, by variable. The roles and commands under `for` (roles, `gate`, `hooks`; default: the coder and the gate, unless their network is `host`) get a placeholder in that variable. The gateway replaces it with the value in requests to `host`, and nowhere else. They may then reach that host. `command` prints the value; it runs in your own environment, once for each run of the loop, for at most a minute. Or `env` names a variable of the loop. `host` is one host or a list; the default port is 443. See docs/security.md.',
    examples: [
      {
        STRIPE_TEST_KEY: { command: 'pass show stripe/test', host: 'api.stripe.com', for: ['coder', 'gate'] },
      },
    ],
  });

const sandboxKind = z.enum(['auto', 'required', 'none', 'bwrap', 'container', 'srt']);

const sandbox = z.object({
  kind: sandboxKind
    .default('auto')
    .describe(
      "`auto`: the first sandbox that works here, with a warning if none does. `required`: the same, but nothing runs without one. `bwrap`: bubblewrap, or nothing runs. `container`: a container of `sandbox.image`, or nothing runs. `srt`: Anthropic's sandbox-runtime, for macOS and untested there, or nothing runs. `none`: no confinement.",
    ),
  image: optional(
    z.string().regex(/^[A-Za-z0-9][\w./:@-]*$/, 'must be the name of an image'),
    'The image for containers (podman or docker): a Linux with glibc, `sh` and the toolchain of your project. You pull it; the loop never does. With `auto` and `required`, containers are used where bubblewrap does not work.',
    'docker.io/library/node:22-bookworm',
  ),
  read: z
    .array(text)
    .default([])
    .meta({
      description: 'More paths that everything in the sandbox may read, such as a toolchain in your home.',
      examples: [['~/.local/share/uv']],
    }),
  network: network.default([...REGISTRIES]).meta({
    description:
      'Hosts that gates, hooks and the coder may reach in the sandbox: domains (`example.org`, `*.example.org`, `example.org:8443`) and presets (`npm`, `yarn`, `pypi`, `crates`, `go`, `maven`, `rubygems`, `nuget`, `packagist`). `any`: every public host. `none`: no host. `host`: the network of this machine, for programs that do not use a proxy or need a service that runs here.',
    examples: [['npm', 'api.example.org']],
  }),
  trusted: z
    .array(z.enum(['hooks', 'deploy']))
    .default(['deploy'])
    .describe('Commands of yours that run unconfined.'),
});

const gate = z.object({
  network: network.optional().meta({
    description:
      'Hosts that setup, commands and `verify:` may reach in the sandbox, instead of `sandbox.network`.',
    examples: [['npm', 'api.example.org']],
  }),
  setup: z
    .array(shell)
    .default([])
    .meta({
      description:
        'Runs before the commands, for example an install. A failure counts as "could not run", never against the agent.',
      examples: [['npm ci']],
    }),
  commands: z
    .union([z.literal('none'), z.array(shell)])
    .default([])
    .meta({
      description:
        'All must pass. With an empty list nothing starts. Write `none` (or `gate: none`) if there is nothing to run.',
      examples: [['npm test']],
    }),
  timeout_ms: milliseconds
    .default(GATE_TIMEOUT_MS)
    .describe('For each command. A timeout counts as "could not run".'),
  preexisting: z
    .enum(['block', 'allow_unchanged'])
    .default('block')
    .describe(
      'What to do with a command that also fails on the base commit. `block`: it must pass anyway. `allow_unchanged`: ignore the failure if the exit code is the same, no new test fails, and no test that ran on the base has disappeared. Test names come from TAP in the output or from `gate.reports`; a command without a report, or with no passing test in it, blocks either way. Such a command should only run tests, and its reporter should name files that can’t be loaded (jest-junit: `reportTestSuiteErrors`).',
    ),
  reports: z
    .array(
      z
        .string()
        .regex(
          /^(?!.*(?:^|\/)\.{1,2}(?:\/|$))[^/]+(?:\/[^/]+)*$/,
          'must be a path below the tree, such as `reports/**/*.xml`',
        ),
    )
    .default([])
    .meta({
      description:
        'Where commands write JUnit reports, which tell which tests failed: paths below the tree, with `*`, `?` and `**`. TAP in the output (`TAP version 13`, as of `node --test --test-reporter=tap`) needs no setting.',
      examples: [['reports/**/*.xml']],
    }),
  max_concurrent: count
    .default(GATES_AT_ONCE)
    .describe('How many gates run at the same time. Those of tasks about to land go first.'),
  setup_cache: z
    .boolean()
    .default(true)
    .describe(
      'Reuse what setup made on trunk in trees with the same lockfiles, manifests and `env`. Only folders that package managers own are kept; if setup writes anything else, or changes a file, it runs every time. Use `false` if an install compiles sources into such a folder.',
    ),
  criteria_commands: z
    .union([z.enum(['confined', 'always']), z.boolean()])
    .default('confined')
    .describe(
      "Also run the commands that an issue's acceptance criteria name (`verify: npm test -- revoke`), with `gate: none` too. `confined` (or `true`): only in a sandbox; without one the gate could not run. `always`: also without a sandbox, with your rights. `false`: never. A command that is also in `commands` always runs.",
    ),
});

const prompt = (description: string, example: string) => optional(z.string(), description, example);

const prompts = z.object({
  continuation: prompt(
    'The next turn on the same session. It has no issue body to send again.',
    'Not done yet: {{ prior_failure_reason }}',
  ),
  revise: prompt(
    'The critic, CI, a person or a conflict asks for changes.',
    'Address every point: {{ feedback }}',
  ),
  interrupted: prompt(
    'The runner died during the turn.',
    'You were interrupted. Continue with #{{ issue.number }}.',
  ),
  handover: prompt(
    'A new session takes over the work tree of one that is lost.',
    'Take over and finish: {{ issue.body }}',
  ),
  spec: prompt(
    'What the specifier is asked about an issue that the rules are unsure of.',
    'Can this be checked when it is done? {{ issue.body }}',
  ),
  critic: prompt(
    'What the critic is asked.',
    'Judge this change, as the JSON report we agreed on: {{ diff }}',
  ),
  next_round: prompt(
    'What the critic is asked about the next head, in the session that judged the one before. It has no issue body to send again.',
    'Judge the whole change again, as it is now: {{ diff }}',
  ),
  plan: prompt(
    'A pass over a plan, or over one of its milestones, in a new session.',
    'Do this milestone: {{ plan.milestone }}',
  ),
  milestone: prompt(
    'The next milestone, in the session of the one before. It has no plan to send again.',
    'Next: {{ plan.milestone }}',
  ),
  audited: prompt(
    'What an audit found, in the session that did the work.',
    'Fix every bug: {{ plan.findings }}',
  ),
  final_fix: prompt(
    'What the audit of the whole plan found, in a new session.',
    'Fix every bug: {{ plan.findings }}',
  ),
  audit: prompt(
    'What the auditor is asked about a milestone.',
    'Audit this milestone, as the JSON result we agreed on: {{ diff }}',
  ),
  final_audit: prompt(
    'What the auditor is asked about the whole plan.',
    'Audit all of it, as the JSON result we agreed on: {{ diff }}',
  ),
  audit_again: prompt(
    'The auditor gave no result that can be used, and is asked once more in the same session.',
    'Give the JSON result now: {{ prior_failure_reason }}',
  ),
  post_action: prompt('What runs after the last audit of a plan, in a new session.', '{{ action.prompt }}'),
  plan_draft: prompt(
    'What the planner is asked when a plan is drafted from an issue.',
    'Write the plan for this issue, between the markers: {{ issue.body }}',
  ),
  plan_draft_again: prompt(
    "The planner's plan could not be used, and it is asked once more in the same session.",
    'Fix this and give the whole plan: {{ prior_failure_reason }}',
  ),
} satisfies Record<Exclude<PromptKind, 'task'>, z.ZodType>);

export const workflowSchema = z
  .object({
    tracker: z
      .object({
        kind: z
          .enum(['local', 'github'])
          .default('local')
          .describe(
            'Where issues and pull requests live. `local`: in the repository itself. `github`: on GitHub, see docs/github.md.',
          ),
        auth: z
          .enum(['token', 'app'])
          .default('token')
          .describe(
            'How the loop logs in at `github`: with a `token`, or as a GitHub App with its own key, see docs/github.md.',
          ),
        provider: z
          .record(z.string(), z.unknown())
          .default({})
          .meta({
            description:
              'Settings of `github`: see docs/github.md. A value may be `$VAR`, which keeps secrets out of the file.',
            examples: [{ token: '$TRACKER_TOKEN' }],
          }),
        trunk: optional(
          text,
          'The branch that work starts from and lands on. Default: the one that the first run found. After a change the loop is held until `forge-loop resume`.',
          'main',
        ),
        required_labels: z
          .array(text)
          .default([])
          .meta({
            description: 'Labels that an issue needs in addition to `labels.ready`, in any case.',
            examples: [['backend']],
          }),
      })
      .prefault({})
      .describe('Where the work comes from.'),
    trust: z
      .object({
        ready_by: z
          .enum(['triage', 'write', 'maintain', 'admin'])
          .default('write')
          .describe(
            'The least role whose `labels.ready` counts. Only GitHub knows roles; locally, whoever can write the file may.',
          ),
      })
      .prefault({})
      .describe('Who may make an issue ready.'),
    polling: z
      .object({
        interval_ms: milliseconds.default(60_000).describe('How often to poll when nothing wakes the loop.'),
      })
      .prefault({})
      .describe('How often to look.'),
    webhook: z
      .object({
        port: optional(
          z.int().min(0).max(65_535),
          'Listen here for deliveries from GitHub; 0 is any free port. With `secret`, they are also accepted at `/webhook` of `server.port`. See docs/github.md.',
          8787,
        ),
        bind: text
          .default('127.0.0.1')
          .describe('The address to listen on. Keep the default behind a proxy or a tunnel on this machine.'),
        secret: optional(
          text,
          'The secret that signs deliveries, as entered at GitHub; write it as `$VAR`. Without it, none are accepted.',
          '$WEBHOOK_SECRET',
        ),
        poll_interval_ms: milliseconds
          .default(300_000)
          .describe('While deliveries arrive (one within the last hour), poll only this often.'),
      })
      .prefault({})
      .superRefine(({ port, secret }, problems) => {
        const message = 'must be set where webhook.port is';
        if (port !== null && secret === null)
          problems.addIssue({ code: 'custom', path: ['secret'], message });
      })
      .describe('GitHub webhooks: learn of changes without polling.'),
    server: z
      .object({
        port: optional(
          z.int().min(0).max(65_535),
          'Port of the dashboard and the HTTP API during `run`; 0 is any free port. Default: nothing listens. `run --port` overrides it.',
          8088,
        ),
        bind: text
          .default('127.0.0.1')
          .describe('The address to listen on. Any other than loopback needs `token`.'),
        token: optional(
          text,
          'Whoever has this token may read and steer the loop; write it as `$VAR`, because agents can read the file. Without one, only browsers get in, by the link printed at the start.',
          '$FORGE_LOOP_TOKEN',
        ),
        hosts: z
          .array(text)
          .default([])
          .describe(
            'Host names of the server, in addition to addresses and `localhost`: for example, behind a proxy.',
          ),
        mcp: z
          .object({
            allow: z
              .array(text)
              .default([])
              .describe(
                'Operations that MCP clients may use to change something, such as `issue.new` or `pause`. Default: they only read.',
              ),
            max_calls: z
              .int()
              .min(1)
              .default(20)
              .describe(
                'How often a client may call each tool: in the life of `mcp serve`, or over HTTP within an hour.',
              ),
          })
          .prefault({})
          .meta({
            description: 'The MCP server: `forge-loop mcp serve`, and `/mcp` over HTTP. See docs/mcp.md.',
            examples: [{ allow: ['issue.new', 'pause'] }],
          }),
      })
      .prefault({})
      .superRefine(({ bind, token }, problems) => {
        if (!isLoopback(bind) && token === null)
          problems.addIssue({
            code: 'custom',
            path: ['token'],
            message: 'must be set where server.bind is not loopback',
          });
      })
      .describe('The dashboard and the HTTP API.'),
    workspace: z
      .object({
        root: optional(
          text,
          "Where work trees are made. `~` and `$VAR` are expanded; a relative path starts at this file's folder. Default: the user's state directory.",
          '~/forge-workspaces',
        ),
        kind: z
          .enum(['clone', 'worktree'])
          .default('clone')
          .describe(
            "`clone` has a git directory of its own; `worktree` shares the repository's, for agents you trust.",
          ),
      })
      .prefault({})
      .describe("Where a task's work tree is."),
    hooks: z
      .object({
        after_create: optional(shell, 'After a workspace is made. A failure fails the attempt.', 'npm ci'),
        before_run: optional(shell, 'Before each turn. A failure fails the attempt.', 'docker compose up -d'),
        after_run: optional(
          shell,
          'After each turn, also a cancelled one. A failure is only logged.',
          'docker compose down',
        ),
        before_remove: optional(
          shell,
          'Before a workspace is removed. A failure is only logged.',
          'rm -rf node_modules',
        ),
        after_merge: optional(
          shell,
          'Once per merged task, in a fresh tree of the merged commit (`FORGE_SHA`). A failure is only logged.',
          'curl -fsS -X POST https://example.com/merged',
        ),
        timeout_ms: milliseconds.default(60_000).describe('For each hook; then its process group is killed.'),
      })
      .prefault({})
      .describe('Shell commands that run in the workspace, unless noted.'),
    env: env
      .prefault({})
      .describe("What a task's processes get of your environment and home. They inherit nothing else."),
    agent: z
      .object({
        kind: agentKeys.kind
          .default('command')
          .describe(
            '`claude`, `codex`, `opencode` and `acp`: see docs/agents.md. `command`: any program. `scripted`: answers from a script file, for demos and tests.',
          ),
        command: optional(
          agentKeys.command,
          'The shell command of kind `command`, which gets the prompt on stdin; of kind `acp` without a preset; or of kind `codex`, in place of `codex app-server`.',
          'my-agent --headless',
        ),
        attach_command: optional(
          shell,
          'The shell command that `forge-loop attach` starts for a coder of kind `command` or `scripted`: the same program, for a person at a terminal.',
          'my-agent',
        ),
        script: optional(
          agentKeys.script,
          "The script file of kind `scripted`. `~` and `$VAR` are expanded; a relative path starts at this file's folder.",
          'agent-script.yaml',
        ),
        preset: optional(agentKeys.preset, 'The program of kind `acp`, if it is one of these.', 'codex-acp'),
        model: optional(
          agentKeys.model,
          "The model, by the agent's own name for it. Kind `opencode` needs one, with its provider.",
          'opus',
        ),
        fallback_models: agentKeys.fallback_models.default([]).meta({
          description:
            'Models to try, in order and in the same session, when a turn fails because its model is overloaded or unavailable. For coders and auditors, also after an unexplained failure.',
          examples: [['sonnet']],
        }),
        effort: optional(
          agentKeys.effort,
          "How hard the model thinks, in the agent's own words: with `claude` low, medium, high, xhigh or max; with `codex` minimal, low, medium, high or xhigh.",
          'high',
        ),
        tool_calls: agentKeys.tool_calls
          .default(20)
          .describe(
            "How often each of the loop's tools (`report_progress`, `findings_write` …) is answered in one turn.",
          ),
        forge_requests: agentKeys.forge_requests
          .default(20)
          .describe(
            'How often a coder or planner may read issues or pull requests in one turn (`issue_read` …). 0: these tools are not offered.',
          ),
        billing: z
          .enum(['usd', 'subscription'])
          .default('usd')
          .describe('What `status` and `cost` show first: money or, for a subscription, tokens.'),
        max_concurrent: count
          .default(3)
          .describe('Slots: tasks in which an agent may work at the same time.'),
        max_concurrent_by_state: z
          .object({
            running: count.optional().describe('The most tasks in first work.'),
            revising: count.optional().describe('The most tasks in revision.'),
          })
          .default({})
          .meta({
            description: 'Limits within `max_concurrent`. An invalid entry is ignored with a warning.',
            examples: [{ running: 2 }],
          }),
        max_waiting: z
          .union([count, z.literal('auto')])
          .default('auto')
          .describe(
            'New work waits while this many tasks wait to be judged and merged. `auto`: as many as can land while a new one is worked on, judging by recent gates, critics and turns.',
          ),
        max_turns: count
          .default(20)
          .describe('Coder turns of one task, over all sessions and revisions; in a plan, per milestone.'),
        turn_timeout_ms: milliseconds.default(3_600_000).describe('The longest one turn may take.'),
        stall_timeout_ms: agentKeys.stall_timeout_ms
          .default(300_000)
          .describe('The longest an agent may be silent while none of its tools is running. 0: no limit.'),
        tool_timeout_ms: agentKeys.tool_timeout_ms
          .default(3_600_000)
          .describe(
            'The longest an agent may be silent while a tool call, such as a build, is running. 0: no limit. `turn_timeout_ms` applies in any case. Agents of the kind `command` report no tool calls: for them `stall_timeout_ms` applies throughout.',
          ),
        repeated_calls: agentKeys.repeated_calls
          .default(12)
          .describe(
            'How often in a row the same tool call may have the same result. One more stops the turn, and the coder is told; such turns count towards `idle_turns` if they changed nothing. 0: no limit.',
          ),
        max_retry_backoff_ms: milliseconds
          .default(300_000)
          .describe(
            'The longest wait before something that failed is retried. The first wait is ten seconds, each next one twice as long.',
          ),
        cooldown_ms: z
          .int()
          .min(0)
          .max(LONGEST_MS)
          .default(3_600_000)
          .describe('How long an unchanged issue waits after a failed attempt.'),
        idle_turns: count
          .default(3)
          .describe('After so many turns in a row that change nothing, the task ends with `no_progress`.'),
      })
      .prefault({})
      .describe('Who works, and within which limits.'),
    roles: roles.prefault({}).describe('A separate agent for a role. Keys left out are taken from `agent`.'),
    mcp,
    prices: z
      .record(text, price)
      .default({})
      .meta({
        description:
          'US dollars per million tokens, by model: for models that are not in the built-in list, or that have another price for you. Used when the provider reports no cost.',
        examples: [{ 'gpt-5.2-codex': { input: 1.75, output: 14, cache_read: 0.175, cache_write: 1.75 } }],
      }),
    spec: z
      .object({
        expand: z
          .enum(['auto', 'propose', 'off'])
          .default('auto')
          .describe(
            'What to do with a specification written for an issue. `auto`: adopt it if the issue itself has something to check, otherwise propose it. `propose`: always ask a person. `off`: write none; the specifier only judges unclear issues.',
          ),
      })
      .prefault({})
      .describe('What happens before the first turn of the coder.'),
    critic: z
      .object({
        enabled: z.boolean().default(true).describe('`false`: a person approves instead.'),
        max_rounds: count
          .default(3)
          .describe('After this many requests for changes, the task ends with `max_critic_rounds`.'),
        parallel: count
          .default(2)
          .describe('Critics that may judge at the same time, in addition to the slots.'),
        block_on: z
          .array(z.enum(SEVERITIES))
          .default(['sev1', 'sev2'])
          .describe('Findings of these severities block the merge. `sev1` always does.'),
      })
      .prefault({})
      .describe('The review of each head.'),
    gate: z
      .union([z.literal('none'), gate])
      .prefault({})
      .describe('The commands that must pass, or an explicit `none` if there is nothing to run.'),
    session: z
      .object({
        policy: z
          .enum(['persist', 'rotate', 'fresh'])
          .default('persist')
          .describe(
            '`persist`: one warm session per task, and one for its critic, renewed after five minutes. `rotate`: a new one for each pass. `fresh`: a new one for each turn.',
          ),
        when_full: z
          .enum(['compact', 'rotate'])
          .default('compact')
          .describe(
            'What to do with a conversation that is still too long after the agent shortened it. `compact`: treat it as a lost session (`recovery.on_lost_session`). `rotate`: hand over to a new one.',
          ),
      })
      .prefault({})
      .describe("The agent's conversation."),
    loop: z
      .object({
        max_iterations: z
          .int()
          .min(0)
          .max(1000)
          .default(20)
          .describe(
            'The most passes over a plan: each audit that finds something costs one, the next milestone none. 0: no limit.',
          ),
        session: z
          .enum(['rotate', 'persist'])
          .default('rotate')
          .describe(
            '`rotate`: each pass of the coder begins a new session, with a small context. `persist`: one session for the whole plan, with a warm cache. An audit always has its own.',
          ),
        worktree_files: z
          .record(below, text)
          .default({})
          .meta({
            description:
              "Your own files, copied into a plan's worktree before each turn of its coder and never committed: a path in the worktree, and the file to copy. `~` and `$VAR` are expanded; a relative path starts at this file's folder. A path that git tracks is refused. See docs/agents.md.",
            examples: [{ '.mcp.json': '~/loop/mcp.json' }],
          }),
        skills: optional(
          text,
          "Your folder of skills, each a folder with a `SKILL.md`. `~` and `$VAR` are expanded; a relative path starts at this file's folder.",
          '~/skills',
        ),
        post_action: z
          .object({
            enabled: z.boolean().default(false).describe('Whether anything runs after the last audit.'),
            skill: optional(
              skillName,
              'A skill of `loop.skills`: placed where the agent looks for skills; for agents without such a place, in the worktree, uncommitted, with its `SKILL.md` in the prompt.',
              'pr-review',
            ),
            prompt: optional(shell, 'What to do, with or without a skill.', 'Write the release note.'),
            model: optional(text, "A model to use instead of the coder's.", 'haiku'),
          })
          .prefault({})
          .meta({
            description:
              'What the coder does once a plan is done, in a new session in its worktree. It cannot change the outcome; its last message is the summary of the plan.',
            examples: [{ enabled: true, prompt: 'Review the branch once more, fix only what is safe.' }],
          }),
      })
      .prefault({})
      .describe('How plans are worked through: see docs/plans.md.'),
    sandbox: z
      .union([sandboxKind, sandbox])
      .prefault({})
      .superRefine((given, problems) => {
        const { kind, image } = typeof given === 'string' ? { kind: given, image: null } : given;
        const message = 'must be set where sandbox.kind is container';
        if (kind === 'container' && image === null)
          problems.addIssue({ code: 'custom', path: ['image'], message });
      })
      .meta({
        description:
          'What confines agents, gates and hooks: see docs/security.md. A single word sets its `kind`.',
        examples: ['required'],
      }),
    gateway: z
      .object({
        credentials: z
          .enum(['all', 'keys', 'none'])
          .default('all')
          .describe(
            'Which credentials of model providers agents never hold, because the loop keeps them: all, only API keys (not logins), or none. Cloud credentials (Bedrock, Vertex) are always passed to the agent.',
          ),
      })
      .prefault({})
      .describe('What is between agents and their providers: see docs/security.md.'),
    secrets,
    merge: z
      .object({
        enabled: z.boolean().default(true).describe('`false`: wait for a person to merge.'),
        method: z
          .enum(['squash', 'merge', 'rebase'])
          .default('squash')
          .describe('How the branch becomes part of trunk.'),
        required_checks: z
          .array(text)
          .default([])
          .meta({
            description:
              'CI checks that must be green at the head, in addition to those the forge itself requires. The loop waits for a check that has not reported yet.',
            examples: [['build']],
          }),
        checks_wait_ms: milliseconds
          .default(3_600_000)
          .describe('How long a published head may wait for its checks before a person is asked.'),
        queue: z
          .object({
            ahead: count
              .max(20)
              .default(3)
              .describe(
                'How many approved tasks are tested at the same time, each on top of those before it, as if they had landed. They land in order, each commit as it was tested. 1: one at a time.',
              ),
            batch: z
              .boolean()
              .default(false)
              .describe(
                'For slow gates: one gate for all tasks in line, run on the last one, which contains the others. If it passes, they all land in order. If it fails, bisection finds the first failing task, which goes back to its coder. See "One gate for several tasks".',
              ),
          })
          .prefault({})
          .meta({
            description:
              'How approved tasks line up for trunk. If the forge has a merge queue of its own, that is used instead.',
            examples: [{ ahead: 8, batch: true }],
          }),
        co_author: optional(
          z
            .string()
            .trim()
            .regex(/^[^<>\r\n]+ <[^<>\s]+@[^<>\s]+>$/, 'must read like `Name <name@example.com>`'),
          'A co-author trailer for the merge commit.',
          'Forge Loop <loop@example.com>',
        ),
      })
      .prefault({})
      .describe('How work lands.'),
    budget: z
      .object({
        usd: optional(z.number().positive(), 'US dollars.', 5),
        tokens: z
          .union([count, z.literal('none')])
          .default(50_000_000)
          .describe('Tokens, in and out, cache reads included. `none`: no limit.'),
        wall_ms: z
          .union([count, z.literal('none')])
          .default(28_800_000)
          .describe('Working time, the sum of its turns. `none`: no limit.'),
        warn_turn_usd: z
          .union([z.number().positive(), z.literal('none')])
          .default(5)
          .describe(
            'US dollars. `cost` and `task show` warn of a turn that cost more; nothing is stopped. `none`: no warning.',
          ),
        day: allowance(20, 10_000_000)
          .prefault({})
          .meta({
            description:
              'What all tasks together may cost in one day. At this limit the loop waits until midnight.',
            examples: [{ usd: 20, tokens: 100_000_000 }],
          }),
        loop: allowance(500, 200_000_000)
          .prefault({})
          .meta({
            description:
              'What all tasks together may ever cost. At this limit the loop waits until you raise it.',
            examples: [{ usd: 500, tokens: 2_000_000_000 }],
          }),
      })
      .prefault({})
      .describe(
        'What one task may cost over all its turns; under `day` and `loop`, all tasks together. A spent budget stops turns in flight: a task ends at its own limit, and waits at one of `day` or `loop`. At 80 % you are warned once. A limit of dollars alone is refused if the price of a model is unknown: set it under `prices`, or limit tokens too.',
      ),
    deploy: z
      .object({
        command: optional(
          shell,
          'Runs after merges, in a fresh tree of the newest trunk (`FORGE_SHA`). Several merges may share one deploy. Default: nothing is deployed.',
          './deploy.sh',
        ),
        timeout_ms: milliseconds.default(1_800_000).describe('The longest one deploy may take.'),
        halt_on_failure: z
          .boolean()
          .default(false)
          .describe(
            '`true`: after a failed deploy the whole loop waits until `forge-loop resume` retries it or a later deploy succeeds.',
          ),
        pass_env: z
          .array(variable)
          .default([])
          .meta({
            description:
              'Your variables that the command gets in addition to `env`; `HOME` may be one. Without them it has no credentials and an empty home.',
            examples: [['HOME', 'SSH_AUTH_SOCK', 'DEPLOY_TOKEN']],
          }),
      })
      .prefault({})
      .describe('What to run after merges.'),
    notify,
    recovery: z
      .object({
        mode: z
          .enum(['auto', 'manual'])
          .default('auto')
          .describe('`manual`: a task whose runner died continues only by `recover` or `restart`.'),
        on_lost_session: z
          .enum(['abandon', 'fresh_session'])
          .default('abandon')
          .describe("If a conversation can't be resumed: end the task, or hand over to a new session."),
      })
      .prefault({})
      .describe('What follows after a crash.'),
    keep: z
      .object({
        abandoned_days: z
          .int()
          .min(0)
          .max(3650)
          .default(14)
          .describe('Homes and sessions of an abandoned task. Those of a merged one go with its worktree.'),
        logs_days: z
          .int()
          .min(0)
          .max(3650)
          .default(90)
          .describe(
            'Prompts and logs of an ended task, never shorter than `abandoned_days`; logs of gates tried on trunk and of deploys.',
          ),
      })
      .prefault({})
      .describe(
        'How long the files of ended tasks in the state directory are kept. A runner removes older ones when it starts and once a day; `forge-loop gc` does it at once. Worktrees of abandoned tasks stay.',
      ),
    labels: labels.prefault({}).describe('The labels that people and the loop use.'),
    protected_paths: z
      .array(text)
      .default(PROTECTED_PATHS)
      .describe(
        'A change to one of these waits for a person. A path that ends in `/` is a folder. Your list replaces the default; the settings file itself is always protected.',
      ),
    prompts: prompts
      .prefault({})
      .describe('Liquid templates, each with a good default. The body of the file is the task prompt.'),
  })
  .meta({ title: 'The front matter of WORKFLOW.md' });

/** The front matter with all defaults filled in. */
export type Workflow = z.output<typeof workflowSchema>;

type Snake<K extends string> = K extends `${infer Head}${infer Tail}`
  ? `${Head extends Lowercase<Head> ? Head : `_${Lowercase<Head>}`}${Snake<Tail>}`
  : K;
