/**
 * A WORKFLOW.md written for Symphony, by its public specification. What means the same here is read under our name; what
 * has no equal is left out. Each is told with the key of ours that comes nearest: nothing is passed over in silence.
 */
import { isMap, valueAt } from './map.ts';
import type { Warn } from './warn.ts';

/** Changes `given` in place; wrong values are left for validation to name. True: it was written for Symphony. */
export function readSymphonyNames(given: Record<string, unknown>, warn: Warn): boolean {
  const agent = valueAt(given, ['agent', 'kind']);
  if (given.codex !== undefined && agent !== undefined && agent !== 'codex') {
    delete given.codex;
    warn(
      ['codex'],
      `"codex" is ignored: agent.kind is ${JSON.stringify(agent)}, whose settings are under "agent"`,
      'Remove it.',
    );
  }
  const isOwnProgram = given.codex === undefined && valueAt(given, ['agent', 'command']) !== undefined;
  const found = [...leaveOut(given, warn), ...readAsOurs(given, warn)];
  const isSymphony = found.length > 0 || given.codex !== undefined;
  if (isMap(given.codex))
    for (const name of Object.keys(given.codex))
      warn(
        ['codex', name],
        `unknown key "codex.${name}" is ignored; "agent.command" can hand it to Codex`,
        'Pass it to Codex in agent.command, or remove it.',
      );
  else if (given.codex !== undefined) warn(['codex'], '"codex" is ignored: expected a map', 'Remove it.');
  delete given.codex;
  if (isSymphony && agent === undefined && !isOwnProgram) {
    put(given, ['agent', 'kind'], 'codex');
    const text = '"agent.kind" is not set: defaulting to codex, as in Symphony';
    warn(['agent', 'kind'], text, 'Set agent.kind.');
  }
  if (isSymphony && given.gate === undefined)
    warn(
      ['gate'],
      '"gate" is not set: finished work waits until gate.commands says how to verify it',
      'Set gate.commands, or write `gate: none`.',
    );
  leaveOutClone(given, warn);
  return isSymphony;
}

/** The one line of such a file that nobody can read for its author. */
export const symphonyHint = (key: string, value: unknown): string | null =>
  key === 'tracker.kind' && value === 'linear'
    ? 'Write `kind: github` or `kind: local`, wherever the issues are. The rest of the file can stay.'
    : null;

const STATES =
  'issues are taken up by label ("labels.ready", "tracker.required_labels") and are over when they are closed';
const APPROVALS = 'what an agent may do is said by "sandbox" and "roles.coder.access"';

const LEFT_OUT: Readonly<Record<string, string>> = {
  active_states: STATES,
  terminal_states: STATES,
  'tracker.active_states': STATES,
  'tracker.terminal_states': STATES,
  'tracker.project_slug': 'the repository is that of `origin`, or "tracker.provider.repository"',
  'tracker.api_key': 'the token of GitHub is "tracker.provider.token"',
  'tracker.endpoint': 'the address of GitHub is "tracker.provider.api_url"',
  'tracker.assignee': 'issues are chosen by label: "tracker.required_labels"',
  'codex.approval_policy': APPROVALS,
  'codex.thread_sandbox': APPROVALS,
  'codex.turn_sandbox_policy': APPROVALS,
  'codex.read_timeout_ms': 'a request to Codex may take two minutes; a silent turn, "agent.stall_timeout_ms"',
  observability: 'see `forge-loop status --watch`, and "server.port" for HTTP',
  worker: 'agents run on this machine only, "agent.max_concurrent" at a time',
};

const SAME: Readonly<Record<string, string>> = {
  continuation_prompt: 'prompts.continuation',
  'agent.continuation_prompt': 'prompts.continuation',
  'agent.max_concurrent_agents': 'agent.max_concurrent',
  'agent.max_concurrent_agents_by_state': 'agent.max_concurrent_by_state',
  'codex.command': 'agent.command',
  'codex.model': 'agent.model',
  'codex.reasoning_effort': 'agent.effort',
  'codex.turn_timeout_ms': 'agent.turn_timeout_ms',
  'codex.stall_timeout_ms': 'agent.stall_timeout_ms',
  'server.host': 'server.bind',
};

/** Symphony takes numbers in quotes. */
const NUMBERS = [
  'polling.interval_ms',
  'agent.max_concurrent',
  'agent.max_retry_backoff_ms',
  'agent.max_turns',
  'agent.turn_timeout_ms',
  'agent.stall_timeout_ms',
  'hooks.timeout_ms',
];

function leaveOut(given: Record<string, unknown>, warn: Warn): string[] {
  return Object.entries(LEFT_OUT).flatMap(([name, nearest]) => {
    const path = name.split('.');
    if (takeOut(given, path) === undefined) return [];
    warn(path, `"${name}" is ignored: ${nearest}`, 'Remove it.');
    return [name];
  });
}

function readAsOurs(given: Record<string, unknown>, warn: Warn): string[] {
  const read = Object.entries(SAME).flatMap(([name, ours]) => {
    const value = takeOut(given, name.split('.'));
    if (value === undefined) return [];
    const isSaid = valueAt(given, ours.split('.')) !== undefined;
    if (!isSaid) put(given, ours.split('.'), value);
    const what = isSaid ? `is ignored: "${ours}" is set, too` : `is read as "${ours}"`;
    warn(name.split('.'), `"${name}" ${what}`, isSaid ? 'Remove it.' : `Rename it to ${ours}.`);
    return [name];
  });
  for (const name of NUMBERS) {
    const value = valueAt(given, name.split('.'));
    if (typeof value === 'string' && /^\d{1,15}$/.test(value.trim()))
      put(given, name.split('.'), Number(value));
  }
  // Any number that is not positive turns it off there; here it is 0.
  const patience = ['agent', 'stall_timeout_ms'];
  if (read.includes('codex.stall_timeout_ms') && Number(valueAt(given, patience)) < 0)
    put(given, patience, 0);
  return read;
}

/** A line of its own that clones into the workspace: there it makes the work tree, here it could only fail. */
const CLONE = /^[ \t]*git clone\b[^\n;&|\\]*[ \t](?:\.|"?\$PWD"?)[ \t]*$/gm;

function leaveOutClone(given: Record<string, unknown>, warn: Warn): void {
  const path = ['hooks', 'after_create'];
  const script = valueAt(given, path);
  if (typeof script !== 'string') return;
  const tree = 'a workspace is a work tree of this repository from the start';
  const without = script.replace(CLONE, ':');
  if (without !== script) {
    put(given, path, without);
    const text = `hooks.after_create: its \`git clone\` into the workspace is left out: ${tree}`;
    warn(path, text, 'Remove that line.');
  }
  if (/\bgit\b.*\bworktree add\b/.test(without))
    warn(path, `hooks.after_create: its \`git worktree add\` would fail: ${tree}`, 'Remove it.');
}

function takeOut(given: Record<string, unknown>, path: readonly string[]): unknown {
  const parent = valueAt(given, path.slice(0, -1));
  const name = path.at(-1)!;
  if (!isMap(parent) || !Object.hasOwn(parent, name)) return undefined;
  const value = parent[name];
  delete parent[name];
  return value;
}

/** Where something else than a map is in the way, validation names it. */
function put(given: Record<string, unknown>, [first = '', ...rest]: readonly string[], value: unknown): void {
  if (rest.length === 0) given[first] = value;
  else {
    if (given[first] === undefined) given[first] = {};
    const below = given[first];
    if (isMap(below)) put(below, rest, value);
  }
}
