/** Gathers what the rules need to know about a change: the change itself, and files of which only a part is guarded. */

import type { Contract } from '../core/event.ts';
import type { NewFinding } from '../core/findings.ts';
import { gateCommands } from '../core/gate.ts';
import { guardedAmong, isSectioned, type SectionedFile } from '../core/guarded.ts';
import { parsePatch } from '../core/patch.ts';
import { type Inspected, ruleFindings } from '../core/rules.ts';
import type { Ports } from './ports.ts';

type Repository = Pick<Ports, 'forge' | 'settings'>;

export async function inspect(
  ports: Repository,
  contract: Contract,
  base: string,
  head: string,
): Promise<NewFinding[]> {
  return ruleFindings(await gather(ports, contract, base, head), ports.settings.policy());
}

/** The files of a change that the gate itself rests on. */
export async function guardedIn(
  ports: Repository,
  contract: Contract,
  base: string,
  head: string,
): Promise<string[]> {
  const { change, sectioned, isVerified } = await gather(ports, contract, base, head);
  const { gate } = ports.settings.policy();
  const patches = parsePatch(change.patch);
  return guardedAmong(change.files, patches, sectioned, gate, isVerified).map(({ path }) => path);
}

async function gather(
  { forge, settings }: Repository,
  contract: Contract,
  base: string,
  head: string,
): Promise<Inspected> {
  const change = await forge.diff(base, head);
  const sectioned: SectionedFile[] = [];
  for (const path of change.files.filter(isSectioned)) {
    const [before, after] = [await forge.fileAt(base, path), await forge.fileAt(head, path)];
    sectioned.push({ path, before, after });
  }
  const isVerified = gateCommands(settings.policy().gate, contract).length > 0;
  return { change, sectioned, isVerified };
}
