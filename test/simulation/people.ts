/** People who meddle while the loop works: they close, edit, relabel, push, merge, ask, and send signals. */
import type { Place } from '../../src/core/change/remark.ts';
import { textHash } from '../../src/core/issue/text-hash.ts';
import { isEnded } from '../../src/core/task.ts';
import { answerProposals } from './readers.ts';
import type { SimRunner } from './runner.ts';
import type { World } from './world.ts';

export function meddle(world: World, runners: readonly SimRunner[]): void {
  const { random, time } = world;
  const events = random.int(8);
  for (let index = 0; index < events; index++)
    time.after(random.int(300_000), () => void act(world, runners));
}

/** A person who looks through the open pull requests now and then, and approves some. */
export function startReviewing(world: World): void {
  const { random, time, repository, pulls } = world;
  let rounds = 0;
  const look = (): void => {
    for (const pull of pulls) {
      const head = repository.refs.get(pull.branch);
      if (pull.state !== 'open' || head === undefined || !random.chance(0.3)) continue;
      pull.approvals.push({ headSha: head, by: 'person' });
      world.approvedHeads.add(head);
    }
    rounds += 1;
    if (rounds < 100) time.after(60_000, look);
  };
  time.after(60_000, look);
}

async function act(world: World, runners: readonly SimRunner[]): Promise<void> {
  const { random, repository, time, store } = world;
  await answerProposals(world);
  const issue = random.pick([...world.issues.values()]);
  const tasks = (await store.tasks({ issue: issue.number })).map((stored) => stored.task);
  const task = tasks.at(-1);
  switch (random.int(19)) {
    case 0:
      issue.state = 'closed';
      world.closedAt.set(issue.number, time.now());
      return;
    case 1:
      if (random.chance(0.3)) issue.title = `${issue.title} ${random.hex(3)}`;
      else issue.body = `${issue.body} And \`${random.hex(3)}\`.`;
      issue.textHash = textHash(issue);
      if (random.chance(0.5)) time.after(random.int(60_000), () => makeReady(world, issue.number));
      return;
    case 2:
      issue.labels.push('loop:abandon');
      return;
    case 3: {
      const trunk = repository.get(world.trunk());
      const files = {
        ...trunk.files,
        [random.pick([
          'shared.txt',
          'other.txt',
        ])]: `${random.pick(['good', 'good', 'bad'])} ${random.hex(4)}`,
      };
      repository.refs.set('main', repository.commit(files, [trunk.sha], `by hand ${random.hex(6)}`).sha);
      return;
    }
    case 4: {
      const head = task && repository.refs.get(task.branch);
      if (!head) return;
      const commit = repository.get(head);
      const files = { ...commit.files, 'person.txt': `good ${random.hex(4)}` };
      repository.refs.set(task.branch, repository.commit(files, [head], `person ${random.hex(6)}`).sha);
      return;
    }
    case 5: {
      const head = task && repository.refs.get(task.branch);
      if (!head) return;
      const { files, conflicts } = repository.merge(world.trunk(), head);
      if (conflicts.length > 0) return;
      repository.refs.set(
        'main',
        repository.commit(files, [world.trunk(), head], `merged by hand ${random.hex(6)}`).sha,
      );
      issue.state = 'closed';
      world.closedAt.set(issue.number, time.now());
      return;
    }
    case 6:
      world.dirtyCheckout = random.chance(0.6) ? 'seen' : 'unseen';
      time.after(random.int(200_000), () => {
        world.dirtyCheckout = 'no';
      });
      return;
    case 7: {
      if (!task) return;
      const kind = random.pick(['cancel', 'abandon', 'pause', 'resume'] as const);
      await store.request({ task: task.id, kind, by: 'person', at: time.now() });
      if (kind === 'pause') {
        time.after(
          random.int(100_000),
          () => void store.request({ task: task.id, kind: 'resume', by: 'person', at: time.now() }),
        );
      }
      return;
    }
    case 8: {
      const runner = random.pick(runners);
      runner.suspend();
      time.after(random.int(700_000), () => runner.resume());
      return;
    }
    case 9:
      await loseWorkspaces(world);
      return;
    case 16:
    case 17: {
      const finding = task && random.pick(await store.findings(task.id));
      if (!finding || isEnded(task)) return;
      const kind = finding.status === 'open' ? 'wontfix' : 'reopen';
      await store.request({
        task: task.id,
        kind,
        by: 'person',
        at: time.now(),
        finding: finding.id,
        why: 'so',
      });
      return;
    }
    case 11: {
      const trunk = repository.get(world.trunk());
      if (!trunk.message.startsWith('by hand ')) return;
      const [parent] = trunk.parents;
      for (const [path, content] of Object.entries(trunk.files))
        if (repository.get(parent!).files[path] !== content) world.takenBack.add(content);
      repository.refs.set('main', parent!);
      return;
    }
    case 10: {
      const pull = task && world.pulls.find((one) => one.issue === issue.number && one.state === 'open');
      const head = task && repository.refs.get(task.branch);
      if (!pull || !head) return;
      pull.approvals.push({ headSha: head, by: 'person' });
      world.approvedHeads.add(head);
      return;
    }
    case 12:
    case 13: {
      const pull = task && world.pulls.find((one) => one.branch === task.branch);
      if (!pull) return;
      world.remarks.push({
        id: random.hex(8),
        where: { kind: 'pull', number: pull.number },
        author: random.pick(['ann', 'bob']),
        mayWrite: random.chance(0.8),
        verdict: random.pick(['comment', 'comment', 'request_changes', 'approve']),
        body: `wish ${random.hex(8)}`,
        file: null,
        line: null,
        headSha: repository.refs.get(task.branch) ?? null,
        at: time.now(),
      });
      return;
    }
    case 14:
    case 15: {
      const word = random.pick(['hold', 'hold', 'explain', 'retry', 'abandon', 'approve', 'fly']);
      const pull = task && world.pulls.find((one) => one.branch === task.branch);
      const where =
        pull && random.chance(0.5)
          ? { kind: 'pull' as const, number: pull.number }
          : { kind: 'issue' as const, number: issue.number };
      const head = task && repository.refs.get(task.branch);
      const mayWrite = random.chance(0.8);
      if (word === 'approve' && mayWrite && head) world.approvedHeads.add(head);
      if (word === 'approve' && mayWrite && task?.spec?.status === 'proposed') world.agreedTo.add(task.id);
      command(world, where, word, mayWrite);
      if (word === 'hold') time.after(random.int(100_000), () => command(world, where, 'resume', true));
      return;
    }
    default: {
      const session = random.pick([...world.sessions.keys(), '']);
      world.sessions.delete(session);
    }
  }
}

async function loseWorkspaces({ workspaces, losses, random, store }: World): Promise<void> {
  const [newest] = await store.events({ last: 1 });
  for (const [path, { task }] of workspaces) {
    if (!random.chance(0.3)) continue;
    workspaces.delete(path);
    losses.push({ task, after: newest?.seq ?? 0 });
  }
}

function command(world: World, where: Place, word: string, mayWrite: boolean): void {
  world.remarks.push({
    id: world.random.hex(8),
    where,
    author: world.random.pick(['ann', 'bob']),
    mayWrite,
    verdict: 'comment',
    body: `/loop ${word}`,
    file: null,
    line: null,
    headSha: null,
    at: world.time.now(),
  });
}

export function makeReady(world: World, number: number): void {
  const issue = world.issues.get(number)!;
  issue.readyHash = issue.textHash;
  issue.readyAt = world.time.now();
  if (!issue.labels.includes('loop:ready')) issue.labels.push('loop:ready');
}
