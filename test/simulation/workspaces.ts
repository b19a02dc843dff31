/** Workspaces of the simulated world: a work tree, a head, and what happens to them when a runner dies between. */
import { WorkspaceRefused } from '../../src/errors.ts';
import type { Setup, WorkspaceKey, Workspaces } from '../../src/workspace/workspace.ts';
import { treeHash } from './repository.ts';
import type { World } from './world.ts';

export function simWorkspaces(world: World): Workspaces {
  const { repository, workspaces } = world;
  const { refs } = repository;
  const path = (spec: Pick<WorkspaceKey, 'task' | 'issue' | 'slug'>): string =>
    `/w/${spec.issue}-${spec.slug}-${spec.task}`;
  const of = (spec: WorkspaceKey) => {
    const found = workspaces.get(path(spec));
    if (!found) throw new WorkspaceRefused(`${path(spec)} is gone`);
    return found;
  };
  const exported = async (commit: string, purpose: string, near: string | null = null) => {
    const isFree = near !== null && !world.exports.has(near) && world.random.chance(0.8);
    const at = isFree ? near : `/x/${purpose}-${world.random.hex(6)}`;
    world.exports.set(at, repository.get(commit).files);
    return {
      path: at,
      dispose: async () => {
        world.exports.delete(at);
      },
    };
  };
  return {
    kind: 'clone',
    path,
    async prepare(spec) {
      const at = path(spec);
      const existing = workspaces.get(at);
      if (existing) return { path: at, baseSha: existing.base, created: false };
      const head = refs.get(`forge/${spec.task}`) ?? refs.get(spec.branch) ?? spec.baseSha;
      workspaces.set(at, {
        task: spec.task,
        branch: spec.branch,
        base: spec.baseSha,
        head,
        files: { ...repository.get(head).files },
        mergeParent: null,
      });
      return { path: at, baseSha: spec.baseSha, created: true };
    },
    async place() {},
    async verify(spec) {
      of(spec);
    },
    async checkpoint(spec, message) {
      const workspace = of(spec);
      const unchanged =
        treeHash(workspace.files) === repository.get(workspace.head).tree && !workspace.mergeParent;
      if (!unchanged) {
        const parents = [workspace.head, ...(workspace.mergeParent ? [workspace.mergeParent] : [])];
        workspace.head = repository.commit(workspace.files, parents, message).sha;
        workspace.mergeParent = null;
      }
      refs.set(`forge/${spec.task}`, workspace.head);
      const { sha, tree } = repository.get(workspace.head);
      const shared = repository.mergeBase(workspace.head, world.trunk());
      const taken = spec.baseSha !== '' && repository.isAncestor(spec.baseSha, workspace.head);
      const baseSha = taken && !repository.isAncestor(spec.baseSha, shared) ? spec.baseSha : shared;
      return { head: { sha, tree }, baseSha, empty: tree === repository.get(baseSha).tree };
    },
    async adopt(spec, sha) {
      const workspace = of(spec);
      workspace.head = sha;
      workspace.files = { ...repository.get(sha).files };
      refs.set(`forge/${spec.task}`, sha);
      return { sha, tree: repository.get(sha).tree };
    },
    async seal(spec, from, message) {
      const workspace = of(spec);
      const { sha, tree, parents, message: said } = repository.get(workspace.head);
      const head = { sha, tree };
      if (tree === repository.get(from).tree) return { head, commit: null };
      if (parents[0] === from && said === message) return { head, commit: sha };
      const parent = repository.isAncestor(from, sha) ? from : sha;
      const sealed = repository.commit(workspace.files, [parent], message);
      workspace.head = sealed.sha;
      refs.set(`forge/${spec.task}`, sealed.sha);
      return { head: { sha: sealed.sha, tree: sealed.tree }, commit: sealed.sha };
    },
    async mergeTrunk(spec, sha) {
      const workspace = of(spec);
      if (workspace.mergeParent === sha || repository.isAncestor(sha, workspace.head))
        return { conflicts: [], landed: [] };
      const { files, conflicts } = repository.merge(workspace.head, sha);
      workspace.files = files;
      workspace.mergeParent = sha;
      return { conflicts, landed: [`${sha.slice(0, 7)} ${repository.get(sha).message}`] };
    },
    async probe(spec) {
      const workspace = workspaces.get(path(spec));
      const saved = refs.get(`forge/${spec.task}`) ?? null;
      if (!workspace) return { exists: false, intact: false, dirty: false, problem: 'gone', saved };
      const dirty = treeHash(workspace.files) !== repository.get(workspace.head).tree;
      return { exists: true, intact: true, dirty, problem: null };
    },
    async refs(spec) {
      const own = [spec.branch, `forge/${spec.task}`];
      return new Map([...refs].filter(([name]) => own.includes(name)));
    },
    forget: async () => false,
    dropReplay: async () => {},
    async reap(spec) {
      workspaces.delete(path(spec));
    },
    export: exported,
    async stage(commit, purpose, setup) {
      const { path: at, dispose } = await exported(commit, purpose);
      const key = setup ? keyOf(setup) : null;
      const keep = async () => {
        if (key !== null) world.setups.add(key);
        return null;
      };
      return {
        path: at,
        home: `${at}-home`,
        key,
        ready: key !== null && world.setups.has(key),
        keep,
        dispose,
      };
    },
    setupKey: async (_commit, setup) => keyOf(setup),
    removeAbandonedTrees: async () => [],
    orphans: async () => [],
  };
}

const keyOf = ({ commands, env }: Setup): string | null =>
  commands.length === 0 ? null : [env, ...commands].join();
