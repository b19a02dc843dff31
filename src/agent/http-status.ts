/** What an HTTP status of a model provider means for a turn. */
import type { FailureCode } from './agent.ts';

export function codeOfStatus(status: number): FailureCode {
  if (status === 401 || status === 402 || status === 403) return 'auth';
  if (status === 404) return 'model_unavailable';
  if (status === 429) return 'rate_limit';
  if (status === 408) return 'network';
  if (status >= 500) return 'overload';
  return 'invalid_request';
}
