/** Gathers what the rules need to know about a change: the change itself, and files of which only a part is guarded. */

import type { NewFinding } from '../core/findings.ts';
import { guardedAmong, isSectioned, type SectionedFile } from '../core/guarded.ts';
import { parsePatch } from '../core/patch.ts';
import { type Inspected, ruleFindings } from '../core/rules.ts';
import type { Ports } from './ports.ts';

type Repository = Pick<Ports, 'forge' | 'settings'>;

export async function inspect(ports: Repository, base: string, head: string): Promise<NewFinding[]> {
  return ruleFindings(await gather(ports, base, head), ports.settings.policy());
}

/** The files of a change that the gate itself rests on. */
export async function guardedIn(ports: Repository, base: string, head: string): Promise<string[]> {
  const { change, sectioned } = await gather(ports, base, head);
  const { gate } = ports.settings.policy();
  return guardedAmong(change.files, parsePatch(change.patch), sectioned, gate).map(({ path }) => path);
}

async function gather({ forge }: Repository, base: string, head: string): Promise<Inspected> {
  const change = await forge.diff(base, head);
  const sectioned: SectionedFile[] = [];
  for (const path of change.files.filter(isSectioned)) {
    const [before, after] = [await forge.fileAt(base, path), await forge.fileAt(head, path)];
    sectioned.push({ path, before, after });
  }
  return { change, sectioned };
}
