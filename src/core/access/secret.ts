/** Secrets of the operator's for the project under work: who may use one, and where; nobody inside ever has its value. */
import type { Role } from '../role.ts';

export interface SecretPolicy {
  /** Of the variable that a command finds a placeholder in. */
  name: string;
  /** Where the operator keeps it: what a command prints, or a variable of the loop's own. */
  from: { command: string } | { env: string };
  /** The only places its value is sent to, as `api.example.org:443`. */
  hosts: readonly string[];
}

/** Who may be given one. */
export type SecretUser = Role | 'gate' | 'hooks';

/** Why somebody who was to have them is not started: without a door of the gateway nobody keeps the value from them. */
export const unheldText = (secrets: readonly SecretPolicy[], why: string): string =>
  `${why}, so nothing could keep the value of ${secrets.map(({ name }) => name).join(', ')} from it: ${UNHELD_ADVICE}`;

const UNHELD_ADVICE =
  'confine it (`sandbox`) on a network other than `host`, or leave it out of `secrets.<name>.for` in WORKFLOW.md';
