/** The labels as they are by default. */
import type { Labels } from '../../src/core/policy.ts';

export const LABELS: Labels = {
  ready: 'loop:ready',
  running: 'loop:running',
  needsReview: 'loop:needs-review',
  needsSpec: 'loop:needs-spec',
  blocked: 'loop:blocked',
  abandon: 'loop:abandon',
  merged: 'loop:merged',
};
