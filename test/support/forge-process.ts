/**
 * A process that works on a local forge beside others.
 *
 *   forge-process.ts write <root> <issue> <count>     says `ready`, waits for a word, then adds issues, labels, comments
 *   forge-process.ts land <root> <pull> <candidate as JSON> before|after <git arguments>    dies at that git command
 */
import { once } from 'node:events';
import { localForge } from '../../src/forge/local/local.ts';
import { type Git, openGit } from '../../src/git/git.ts';
import { LABELS } from './labels.ts';

const [verb, root, ...rest] = process.argv.slice(2) as [string, string, ...string[]];

if (verb === 'write') {
  const forge = await localForge({ git: await openGit(root), root, now: Date.now, labels: LABELS });
  const [issue, count] = rest.map(Number) as [number, number];
  process.stdout.write('ready\n');
  await once(process.stdin, 'data');
  process.stdin.destroy();
  for (let round = 0; round < count; round++) {
    await forge.newIssue({ title: `by ${process.pid}`, body: `${round}` });
    await forge.relabel(issue, { add: [`${process.pid}-${round}`], remove: [] });
    await forge.addComment(issue, 'somebody', `${process.pid}-${round}`);
    await forge.ensureComment(issue, `shared-${round}`, `once ${round}`);
  }
} else {
  const [pull, candidate, when, ...args] = rest as [string, string, string, ...string[]];
  const git = await dyingGit(root, when, args.join(' '));
  const forge = await localForge({ git, root, now: Date.now, labels: LABELS });
  await forge.land(Number(pull), JSON.parse(candidate));
}

/** A git after which, or before which, this process is gone as if by power failure. */
async function dyingGit(path: string, when: string, command: string): Promise<Git> {
  const git = await openGit(path);
  const die = () => process.kill(process.pid, 'SIGKILL');
  const dying = async (...call: Parameters<Git>) => {
    const isIt = call[0].join(' ').startsWith(command);
    if (isIt && when === 'before') die();
    const result = await git(...call);
    if (isIt && when === 'after') die();
    return result;
  };
  return Object.assign(dying, { ...git });
}
