/**
 * What came of a provider's error when a real program carried it: the words that a person reads, and the code where it is
 * another than the error's own. `e2e/providers.test.ts` holds it to the programs; docs/providers.md shows it. Cases that
 * differ between programs are here; that each error means the same on each wire is held by `wire.test.ts`.
 */
import type { FailureCode } from '../../../src/agent/agent.ts';
import type { ProviderError } from './provider-errors.ts';

export const CARRIERS = [
  'claude',
  'codex',
  'opencode, OpenAI chat',
  'opencode, Anthropic',
  'acp claude-agent-acp',
  'acp codex-acp',
  'acp opencode, Anthropic',
  'acp gemini',
] as const;
export type Carrier = (typeof CARRIERS)[number];

export interface Seen {
  error: ProviderError;
  /** How its message begins. */
  said: string;
  code?: FailureCode;
}

const seen = (error: ProviderError, said: string, code?: FailureCode): Seen => ({
  error,
  said,
  ...(code && { code }),
});

export const SEEN: Readonly<Record<Carrier, readonly Seen[]>> = {
  claude: [
    seen('no credit', 'Credit balance is too low'),
    seen('spend limit', 'You have reached your specified API usage limits. You will regain access on'),
    seen('account on hold', 'Your ANTHROPIC_API_KEY belongs to a disabled organization'),
    seen('expired login', 'OAuth token has expired. Please obtain a new token'),
    seen('no permission', 'Your API key does not have permission to use the specified resource.'),
    seen('unknown model', "There's an issue with the selected model (claude-sonnet-4-5)."),
    seen('unsupported effort', 'This model does not support the effort parameter.'),
    seen('rate limit', "This request would exceed your organization's rate limit of 30,000 input tokens"),
    seen('overload', 'Overloaded. This is a server-side issue, usually temporary'),
    seen('prompt too long', 'Prompt is too long'),
    seen('overload in mid-stream', 'Overloaded. This is a server-side issue, usually temporary'),
  ],
  codex: [
    seen('no credit', 'Quota exceeded. Check your plan and billing details.'),
    seen('spend limit', 'Billing hard limit has been reached'),
    seen('account on hold', 'The OpenAI account associated with this API key has been deactivated.'),
    seen('bad key', 'Incorrect API key provided: sk-test.'),
    seen('expired login', 'Provided authentication token is expired. Please try signing in again.'),
    seen('no permission', 'You have insufficient permissions for this operation.'),
    seen('unknown model', "The requested model 'gpt-9' does not exist."),
    seen('unsupported effort', "Unsupported value: 'xhigh' is not supported with the 'gpt-5.1' model."),
    seen('rate limit', 'exceeded retry limit, last status: 429 Too Many Requests'),
    seen('overload', 'Selected model is at capacity. Please try a different model.'),
    seen('server error', 'We’re currently experiencing high demand'),
    seen('prompt too long', 'Your input exceeds the context window of this model.'),
    seen('overload in mid-stream', 'Selected model is at capacity. Please try a different model.'),
  ],
  'opencode, OpenAI chat': [
    seen('no credit', 'You exceeded your current quota, please check your plan and billing details.'),
    seen('expired login', 'Provided authentication token is expired. Please try signing in again.'),
  ],
  'opencode, Anthropic': [
    seen('no credit', 'Your credit balance is too low to access the Anthropic API.'),
    seen('prompt too long', 'prompt is too long: 213462 tokens > 200000 maximum'),
    seen('overload in mid-stream', 'Overloaded'),
  ],
  'acp claude-agent-acp': [
    seen('account on hold', 'Your ANTHROPIC_API_KEY belongs to a disabled organization'),
    seen('expired login', 'Authentication required'),
    seen('prompt too long', 'Prompt is too long'),
  ],
  'acp codex-acp': [
    seen('spend limit', 'Billing hard limit has been reached'),
    seen('expired login', 'Provided authentication token is expired. Please try signing in again.'),
    seen('unknown model', "The requested model 'gpt-9' does not exist."),
    seen('unsupported effort', "Unsupported value: 'xhigh' is not supported with the 'gpt-5.1' model."),
    seen('rate limit', 'exceeded retry limit, last status: 429 Too Many Requests'),
  ],
  'acp opencode, Anthropic': [
    seen('expired login', 'OAuth token has expired. Please obtain a new token'),
    seen('prompt too long', 'the conversation does not fit, even shortened'),
  ],
  'acp gemini': [
    seen('no credit', 'Your prepayment credits are depleted.'),
    seen('expired login', 'API key expired. Please renew the API key.'),
    seen('unknown model', 'models/gemini-9 is not found for API version v1beta'),
    seen('unsupported effort', 'thinking_level is not supported by this model'),
    seen('prompt too long', 'The input token count (1091639) exceeds the maximum number of tokens allowed'),
    // It takes an error in the middle of an answer for the end of it.
    seen('overload in mid-stream', 'the answer of Gemini’s provider broke off', 'network'),
  ],
};
