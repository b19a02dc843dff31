/**
 * podman's own filter of system calls lets through what needs no capability: keyrings, the log of the kernel, further user
 * namespaces, sockets of any family. Here it is narrowed to what bubblewrap's lets through (seccomp.ts). docker's refuses
 * most of that by itself, and can't be read.
 */
import { FAMILIES, refusedCalls } from './seccomp.ts';

interface Rule {
  names: string[];
  action: string;
  includes?: { caps?: string[] };
  [other: string]: unknown;
}

interface Profile {
  syscalls: Rule[];
  [other: string]: unknown;
}

export function narrowed(profile: Profile): Profile {
  const ours = new Set([...refusedCalls(), 'unshare', 'clone', 'clone3', 'socket']);
  const kept = profile.syscalls
    .map((rule) => ({ ...rule, names: rule.names.filter((name) => !ours.has(name)) }))
    .filter(({ names }) => names.length > 0);
  const allow = (name: string, args: object[]): Rule => ({ names: [name], action: 'SCMP_ACT_ALLOW', args });
  return {
    ...profile,
    syscalls: [
      ...kept,
      allow('clone', [{ index: 0, value: NEW_NAMESPACES, valueTwo: 0, op: 'SCMP_CMP_MASKED_EQ' }]),
      // Its flags can't be looked at. Who is told there is no such call uses the other.
      { names: ['clone3'], action: 'SCMP_ACT_ERRNO', errnoRet: 38 },
      ...Object.values(FAMILIES).map((value) => allow('socket', [{ index: 0, value, op: 'SCMP_CMP_EQ' }])),
      { names: [...refusedCalls(), 'unshare'].filter(isNoRing), action: 'SCMP_ACT_ERRNO', errnoRet: 1 },
    ],
  };
}

/** CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET. */
const NEW_NAMESPACES = 0x7e020000;

/** io_uring is refused by the profile's own default: as if there were no such call. */
const isNoRing = (name: string): boolean => !name.startsWith('io_uring_');
