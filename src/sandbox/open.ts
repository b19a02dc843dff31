/** The sandbox that works here, or none. */
import type { SandboxKind } from '../core/role.ts';
import type { Bwrap } from './bwrap.ts';
import type { Containers } from './container.ts';
import { noSandbox } from './none.ts';
import type { Sandbox, Unavailable, Unlimited } from './sandbox.ts';
import type { Srt } from './srt.ts';

interface Sandboxes {
  bwrap: Bwrap;
  containers: Containers;
  srt: Srt;
}

interface Candidate {
  kind: SandboxKind;
  unavailable(): Promise<Unavailable | null>;
  unlimited(): Promise<Unlimited | null>;
}

export function openSandbox(
  { bwrap, containers, srt }: Sandboxes,
  platform: NodeJS.Platform = process.platform,
): Sandbox {
  return {
    async choose(wanted) {
      const { kind, image } = wanted;
      if (kind === 'none') return { kind: 'none', why: null, unlimited: null };
      const missing: Unavailable[] = [];
      for (const candidate of candidates(kind, image)) {
        const why = await candidate.unavailable();
        if (why === null) return { kind: candidate.kind, why: null, unlimited: await candidate.unlimited() };
        missing.push(why);
      }
      const why = missing.map((one) => one.why).join('; ');
      // What may well be there is not gone without.
      return missing.every(({ isSure }) => isSure) ? noSandbox(why).choose(wanted) : { kind: null, why };
    },
    confine(command, access) {
      if (access.sandbox === 'none') return noSandbox().confine(command, access);
      if (access.sandbox === 'bwrap') return bwrap.confine(command, access);
      if (access.sandbox === 'srt') return srt.confine(command, access);
      return containers.confine(command, access, access.sandbox.image);
    },
    clear: containers.clear,
  };

  /** In the order of how much they keep. srt keeps less than the others on Linux, so nobody gets it there by chance. */
  function candidates(kind: string, image: string | null): Candidate[] {
    const isMeant = (one: string): boolean => [one, 'auto', 'required'].includes(kind);
    return [
      ...(isMeant('bwrap') ? [{ kind: 'bwrap' as const, ...bwrap }] : []),
      ...(isMeant('container') && image !== null
        ? [
            {
              kind: { image },
              unavailable: () => containers.unavailable(image),
              unlimited: () => containers.unlimited(image),
            },
          ]
        : []),
      ...(kind === 'srt' || (isMeant('srt') && platform === 'darwin')
        ? [{ kind: 'srt' as const, unavailable: srt.unavailable, unlimited: async () => null }]
        : []),
    ];
  }
}
