/** What went wrong, as every answer says it: `{ error: { code, message, hint } }`. */
import {
  ConfigError,
  ForgeUnavailable,
  LeaseLost,
  StoreUnavailable,
  UsageError,
  UserError,
  VersionConflict,
} from '../errors.ts';

export interface Envelope {
  error: { code: string; message: string; hint: string | null };
}

type ErrorStatus = 400 | 401 | 403 | 404 | 405 | 409 | 413 | 415 | 421 | 422 | 500 | 503;

export const envelope = (code: string, message: string, hint: string | null = null): Envelope => ({
  error: { code, message, hint },
});

/** A bug is told without its stack: that is in the log. */
export function problemOf(error: unknown): { status: ErrorStatus; body: Envelope } {
  const { message } = error instanceof Error ? error : { message: String(error) };
  if (error instanceof UsageError) return { status: 400, body: envelope('bad_input', message, error.hint) };
  if (error instanceof ConfigError)
    return { status: 409, body: envelope('broken_workflow', message, error.hint) };
  if (error instanceof UserError) return { status: 422, body: envelope('refused', message, error.hint) };
  if (error instanceof StoreUnavailable) return { status: 503, body: envelope('store_unavailable', message) };
  if (error instanceof ForgeUnavailable) return { status: 503, body: envelope('forge_unavailable', message) };
  if (error instanceof VersionConflict || error instanceof LeaseLost)
    return { status: 409, body: envelope('conflict', message, 'Look again, then try again.') };
  return { status: 500, body: envelope('bug', message, 'This may be a bug; the log has more.') };
}
