/** Gathers what the rules need to know about a change: the change itself, and files of which only a part is guarded. */

import type { NewFinding } from '../core/change/findings.ts';
import { guardedAmong, isSectioned, type SectionedFile } from '../core/change/guarded.ts';
import { parsePatch } from '../core/change/patch.ts';
import { type Inspected, ruleFindings } from '../core/change/rules.ts';
import type { Contract } from '../core/event.ts';
import { gateCommands } from '../core/gate.ts';
import type { Ports } from './ports.ts';

type Inspecting = Pick<Ports, 'repository' | 'settings'>;

/** Kept with the task: enough to see who else is at work there. */
const MOST_FILES = 50;

export async function inspect(
  ports: Inspecting,
  contract: Contract,
  base: string,
  head: string,
): Promise<{ findings: NewFinding[]; chars: number; files: readonly string[] }> {
  const inspected = await gather(ports, contract, base, head);
  const findings = ruleFindings(inspected, ports.settings.policy());
  const { patch, files } = inspected.change;
  return { findings, chars: patch.length, files: files.slice(0, MOST_FILES) };
}

/** The files of a change that the gate itself rests on. */
export async function guardedIn(
  ports: Inspecting,
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
  { repository, settings }: Inspecting,
  contract: Contract,
  base: string,
  head: string,
): Promise<Inspected> {
  const change = await repository.diff(base, head);
  const sectioned: SectionedFile[] = [];
  for (const path of change.files.filter(isSectioned)) {
    const [before, after] = [await repository.fileAt(base, path), await repository.fileAt(head, path)];
    sectioned.push({ path, before, after });
  }
  const isVerified = gateCommands(settings.policy().gate, contract).length > 0;
  return { change, sectioned, isVerified };
}
