/** CI of the simulated world: every head that is pushed is checked, in its own time, and now and then run again. */
import type { Check } from '../../src/core/change/remark.ts';
import type { World } from './world.ts';

export interface CiTemper {
  /** Probability of a red result, of a run that is repeated later, and of one that never reports. */
  fails: number;
  flips: number;
  silent: number;
  /** Does the forge itself require the check? */
  required: boolean;
}

export function startCi(world: World, temper: CiTemper): void {
  const { random, time, repository } = world;
  const moved = repository.refs.set.bind(repository.refs);
  repository.refs.set = (branch, sha) => {
    moved(branch, sha);
    if (branch !== 'main') check(sha);
    return repository.refs;
  };

  function check(headSha: string): void {
    if (world.checks.some((one) => one.headSha === headSha)) return;
    const made: Check = {
      name: 'build',
      headSha,
      state: 'pending',
      required: temper.required,
      job: null,
      step: null,
      logTail: null,
      link: null,
    };
    world.checks.push(made);
    if (!random.chance(temper.silent)) time.after(random.int(60_000), () => report(made));
  }

  function report(check: Check): void {
    const state = random.chance(temper.fails) ? 'red' : 'green';
    if (state === 'red') world.redSince.set(check.headSha, time.now());
    else world.redSince.delete(check.headSha);
    check.state = state;
    check.logTail = state === 'red' ? `failed ${random.hex(4)}` : null;
    if (random.chance(temper.flips)) time.after(random.int(200_000), () => report(check));
  }
}
