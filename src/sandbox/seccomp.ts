/**
 * The system calls that nothing confined makes: a classic BPF program, as the kernel and `bwrap --seccomp` take it.
 *
 * What namespaces do not cover is refused here: the session keyring, io_uring (which passes by other filters), mounts, the
 * kernel's own doors, sockets of families other than the usual, and typing into a terminal.
 */

interface Architecture {
  /** AUDIT_ARCH_… of linux/audit.h. */
  audit: number;
  refused: Readonly<Record<string, number>>;
  socket: number;
  ioctl: number;
  /** A second table of calls under the same architecture, which would pass by the first: x32. */
  otherTableFrom?: number;
}

/** The same number everywhere. */
const NEWER = {
  io_uring_setup: 425,
  io_uring_enter: 426,
  io_uring_register: 427,
  open_tree: 428,
  move_mount: 429,
  fsopen: 430,
  fsconfig: 431,
  fsmount: 432,
  fspick: 433,
  mount_setattr: 442,
  quotactl_fd: 443,
};

/** By `process.arch`. The numbers are those of the kernel's asm/unistd.h. */
const ARCHITECTURES: Readonly<Record<string, Architecture>> = {
  x64: {
    audit: 0xc000003e,
    socket: 41,
    ioctl: 16,
    otherTableFrom: 0x40000000,
    refused: {
      ...NEWER,
      syslog: 103,
      vhangup: 153,
      pivot_root: 155,
      adjtimex: 159,
      chroot: 161,
      acct: 163,
      settimeofday: 164,
      mount: 165,
      umount2: 166,
      swapon: 167,
      swapoff: 168,
      reboot: 169,
      iopl: 172,
      ioperm: 173,
      init_module: 175,
      delete_module: 176,
      quotactl: 179,
      nfsservctl: 180,
      lookup_dcookie: 212,
      clock_settime: 227,
      kexec_load: 246,
      add_key: 248,
      request_key: 249,
      keyctl: 250,
      perf_event_open: 298,
      open_by_handle_at: 304,
      clock_adjtime: 305,
      setns: 308,
      finit_module: 313,
      kexec_file_load: 320,
      bpf: 321,
      userfaultfd: 323,
    },
  },
  arm64: {
    audit: 0xc00000b7,
    socket: 198,
    ioctl: 29,
    refused: {
      ...NEWER,
      lookup_dcookie: 18,
      umount2: 39,
      mount: 40,
      pivot_root: 41,
      nfsservctl: 42,
      chroot: 51,
      vhangup: 58,
      quotactl: 60,
      acct: 89,
      kexec_load: 104,
      init_module: 105,
      delete_module: 106,
      clock_settime: 112,
      syslog: 116,
      reboot: 142,
      settimeofday: 170,
      adjtimex: 171,
      add_key: 217,
      request_key: 218,
      keyctl: 219,
      swapon: 224,
      swapoff: 225,
      perf_event_open: 241,
      open_by_handle_at: 265,
      clock_adjtime: 266,
      setns: 268,
      finit_module: 273,
      bpf: 280,
      userfaultfd: 282,
      kexec_file_load: 294,
    },
  },
};

export const FAMILIES = { unix: 1, inet: 2, inet6: 10, netlink: 16 };
const TERMINAL = { TIOCSTI: 0x5412, TIOCLINUX: 0x541c };

/** By name, whatever the architecture. */
export const refusedCalls = (): string[] => [
  ...new Set(Object.values(ARCHITECTURES).flatMap(({ refused }) => Object.keys(refused))),
];

/** Null where we do not know the numbers. */
export function seccompFilter(arch: string): Buffer | null {
  const known = ARCHITECTURES[arch];
  return known ? assembled(known) : null;
}

const LOAD = 0x20; // BPF_LD | BPF_W | BPF_ABS
const EQUAL = 0x15; // BPF_JMP | BPF_JEQ | BPF_K
const AT_LEAST = 0x35; // BPF_JMP | BPF_JGE | BPF_K
const RETURN = 0x06; // BPF_RET | BPF_K

const ALLOW = 0x7fff0000;
const KILL = 0x80000000;
const refuseWith = (errno: number): number => 0x00050000 | errno;
const [EPERM, ENOSYS, EAFNOSUPPORT] = [1, 38, 97];

/** Of `struct seccomp_data`; arguments are 64 bits wide, their lower half comes first on both. */
const NUMBER = 0;
const ARCH = 4;
const argument = (index: number): number => 16 + 8 * index;

type Step = readonly [code: number, jumpIf: number, jumpElse: number, value: number];

function assembled({ audit, refused, socket, ioctl, otherTableFrom }: Architecture): Buffer {
  const steps: Step[] = [
    [LOAD, 0, 0, ARCH],
    [EQUAL, 1, 0, audit],
    [RETURN, 0, 0, KILL],
    [LOAD, 0, 0, NUMBER],
  ];
  if (otherTableFrom !== undefined)
    steps.push([AT_LEAST, 0, 1, otherTableFrom], [RETURN, 0, 0, refuseWith(ENOSYS)]);
  for (const [name, number] of Object.entries(refused)) {
    // A library that is told there is no such call goes the way it went before there was one.
    const errno = name.startsWith('io_uring_') ? ENOSYS : EPERM;
    steps.push([EQUAL, 0, 1, number], [RETURN, 0, 0, refuseWith(errno)]);
  }
  const families = Object.values(FAMILIES);
  steps.push(
    [EQUAL, 0, families.length + 2, socket],
    [LOAD, 0, 0, argument(0)],
    ...families.map((family, index): Step => [EQUAL, families.length - index, 0, family]),
    [RETURN, 0, 0, refuseWith(EAFNOSUPPORT)],
    [LOAD, 0, 0, NUMBER],
  );
  const requests = Object.values(TERMINAL);
  steps.push(
    [EQUAL, 0, requests.length + 1, ioctl],
    [LOAD, 0, 0, argument(1)],
    ...requests.map((request, index): Step => [EQUAL, requests.length - index, 0, request]),
    [RETURN, 0, 0, ALLOW],
    [RETURN, 0, 0, refuseWith(EPERM)],
  );
  const program = Buffer.alloc(steps.length * 8);
  for (const [index, [code, jumpIf, jumpElse, value]] of steps.entries()) {
    program.writeUInt16LE(code, index * 8);
    program.writeUInt8(jumpIf, index * 8 + 2);
    program.writeUInt8(jumpElse, index * 8 + 3);
    program.writeUInt32LE(value, index * 8 + 4);
  }
  return program;
}
