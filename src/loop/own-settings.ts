/** The settings as they hold for one task: a plan may have been started with others. */
import { policyFor } from '../core/plan/limits.ts';
import type { Task } from '../core/task.ts';
import type { Ports } from './ports.ts';

export function withOwnSettings(ports: Ports, task: Task): Ports {
  if (!task.plan?.limits) return ports;
  const { settings } = ports;
  return { ...ports, settings: { ...settings, policy: () => policyFor(task, settings.policy()) } };
}
