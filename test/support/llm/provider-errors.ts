/**
 * What the four providers answer on a bad night, word for word as they document it or as people posted it; ids are made up.
 * `wire.test.ts` holds our tables to it, the scripted model sends it, and the table in docs/providers.md is made of it.
 *
 * - Anthropic: https://platform.claude.com/docs/en/api/errors, anthropics/claude-code#66314 (no credit), #38035 (spend
 *   limit), #19028 (disabled), #6459 (expired login), #30795 (effort), #55132 (rate limit)
 * - OpenAI: https://platform.openai.com/docs/guides/error-codes, openai/codex#18769 (expired login), ChatGPTNextWeb/NextChat#4175
 *   (deactivated), continuedev/continue#10059 (scopes), microsoft/vscode#301045 (effort), wrtnlabs/autobe#136 (rate limit),
 *   VectorlyApp/bluebox#66 (too long), vercel/ai#6534 (in mid-stream)
 * - Gemini: https://ai.google.dev/gemini-api/docs/troubleshooting, continuedev/continue#11336 (expired key), #10902 (suspended),
 *   QwenLM/qwen-code#9094 (effort), google-gemini/gemini-cli#4231 (too long)
 */
import type { FailureCode } from '../../../src/agent/agent.ts';
import type { Protocol, ServerEvent } from './wire.ts';

export const PROVIDER_ERRORS = [
  'no credit',
  'spend limit',
  'account on hold',
  'bad key',
  'expired login',
  'no permission',
  'unknown model',
  'unsupported effort',
  'rate limit',
  'overload',
  'server error',
  'prompt too long',
  'overload in mid-stream',
] as const;
export type ProviderError = (typeof PROVIDER_ERRORS)[number];

/** What each of them is, whoever carries it. */
export const MEANS: Readonly<Record<ProviderError, FailureCode>> = {
  'no credit': 'billing',
  'spend limit': 'billing',
  'account on hold': 'auth',
  'bad key': 'auth',
  'expired login': 'auth',
  'no permission': 'auth',
  'unknown model': 'model_unavailable',
  'unsupported effort': 'setting_refused',
  'rate limit': 'rate_limit',
  overload: 'overload',
  'server error': 'overload',
  'prompt too long': 'context_overflow',
  'overload in mid-stream': 'overload',
};

export interface ErrorAnswer {
  status: number;
  headers: Record<string, string>;
  body: { error: { message: string } };
  /** To a request that streams: said after half of an answer, which began as a success. */
  midStream?: ServerEvent[];
}

const answer = (status: number, body: ErrorAnswer['body'], headers = {}): ErrorAnswer => ({
  status,
  body,
  headers,
});

const INVALID = 'invalid_request_error';

const anthropicBody = (type: string, message: string) => ({
  type: 'error',
  error: { type, message },
  request_id: 'req_011CbrFTcXhtiMzr3s6EocF7',
});
const anthropic = (status: number, type: string, message: string, headers = {}) =>
  answer(status, anthropicBody(type, message), headers);
const ANTHROPIC_OVERLOADED = anthropicBody('overloaded_error', 'Overloaded');

const MESSAGES: Record<ProviderError, ErrorAnswer> = {
  'no credit': anthropic(
    400,
    INVALID,
    'Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits.',
  ),
  'spend limit': anthropic(
    400,
    INVALID,
    'You have reached your specified API usage limits. You will regain access on 2026-12-01 at 00:00 UTC.',
  ),
  'account on hold': anthropic(400, INVALID, 'This organization has been disabled.'),
  'bad key': anthropic(401, 'authentication_error', 'invalid x-api-key'),
  'expired login': anthropic(
    401,
    'authentication_error',
    'OAuth token has expired. Please obtain a new token or refresh your existing token.',
  ),
  'no permission': anthropic(
    403,
    'permission_error',
    'Your API key does not have permission to use the specified resource.',
  ),
  'unknown model': anthropic(404, 'not_found_error', 'model: claude-sonnet-9'),
  'unsupported effort': anthropic(400, INVALID, 'This model does not support the effort parameter.'),
  'rate limit': anthropic(
    429,
    'rate_limit_error',
    "This request would exceed your organization's rate limit of 30,000 input tokens per minute (org: 00000000-0000-4000-8000-000000000000, model: claude-sonnet-4-6). For details, refer to: https://docs.claude.com/en/api/rate-limits. You can see the response headers for current usage. Please reduce the prompt length or the maximum tokens requested, or try again later. You may also contact sales at https://claude.com/contact-sales to discuss your options for a rate limit increase.",
    { 'retry-after': '1' },
  ),
  overload: anthropic(529, 'overloaded_error', 'Overloaded'),
  'server error': anthropic(500, 'api_error', 'Internal server error'),
  'prompt too long': anthropic(400, INVALID, 'prompt is too long: 213462 tokens > 200000 maximum'),
  'overload in mid-stream': {
    ...answer(529, ANTHROPIC_OVERLOADED),
    midStream: [{ event: 'error', data: ANTHROPIC_OVERLOADED }],
  },
};

interface OpenaiError {
  message: string;
  type: string | null;
  code: string | null;
  param?: string;
}
const openai = (status: number, error: OpenaiError, headers = {}) =>
  answer(status, { error: { ...error, param: error.param ?? null } as OpenaiError }, headers);

/** What both of OpenAI's wires say alike. */
const OPENAI = {
  'no credit': openai(429, {
    message:
      'You exceeded your current quota, please check your plan and billing details. For more information on this error, read the docs: https://platform.openai.com/docs/guides/error-codes/api-errors.',
    type: 'insufficient_quota',
    code: 'insufficient_quota',
  }),
  'spend limit': openai(400, {
    message: 'Billing hard limit has been reached',
    type: INVALID,
    code: 'billing_hard_limit_reached',
  }),
  'account on hold': openai(401, {
    message:
      'The OpenAI account associated with this API key has been deactivated. If you are the developer for this OpenAI app, please check your email for more information. If you are seeing this error while using another app or site, please reach out to them for more help.',
    type: INVALID,
    code: 'account_deactivated',
  }),
  'bad key': openai(401, {
    message:
      'Incorrect API key provided: sk-test. You can find your API key at https://platform.openai.com/account/api-keys.',
    type: INVALID,
    code: 'invalid_api_key',
  }),
  'expired login': openai(401, {
    message: 'Provided authentication token is expired. Please try signing in again.',
    type: null,
    code: 'token_expired',
  }),
  'rate limit': openai(
    429,
    {
      message:
        'Rate limit reached for gpt-5.2-codex in organization org-000000000000000000000000 on tokens per min (TPM): Limit 30000, Used 30000, Requested 24700. Please try again in 494ms. Visit https://platform.openai.com/account/rate-limits to learn more.',
      type: 'tokens',
      code: 'rate_limit_exceeded',
    },
    { 'retry-after': '1', 'retry-after-ms': '494' },
  ),
  'server error': openai(500, {
    message: 'The server had an error while processing your request. Sorry about that!',
    type: 'server_error',
    code: null,
  }),
} as const;

const unsupportedEffort = (param: string) =>
  openai(400, {
    message:
      "Unsupported value: 'xhigh' is not supported with the 'gpt-5.1' model. Supported values are: 'none', 'low', 'medium', and 'high'.",
    type: INVALID,
    code: 'unsupported_value',
    param,
  });

const missingScope = (scope: string) =>
  openai(401, {
    message: `You have insufficient permissions for this operation. Missing scopes: ${scope}. Check that you have the correct role in your organization (Reader, Writer, Owner) and project (Member, Owner), and if you're using a restricted API key, that it has the necessary scopes.`,
    type: INVALID,
    code: 'missing_scope',
  });

const RESPONSES_OVERLOADED = {
  message: 'Our servers are currently overloaded. Please try again later.',
  type: 'service_unavailable_error',
  code: 'server_is_overloaded',
};

const RESPONSES: Record<ProviderError, ErrorAnswer> = {
  ...OPENAI,
  'no permission': missingScope('api.responses.write'),
  'unknown model': openai(400, {
    message: "The requested model 'gpt-9' does not exist.",
    type: INVALID,
    code: 'model_not_found',
    param: 'model',
  }),
  'unsupported effort': unsupportedEffort('reasoning.effort'),
  overload: openai(503, RESPONSES_OVERLOADED),
  'prompt too long': openai(400, {
    message: 'Your input exceeds the context window of this model. Please adjust your input and try again.',
    type: INVALID,
    code: 'context_length_exceeded',
    param: 'input',
  }),
  'overload in mid-stream': {
    ...openai(503, RESPONSES_OVERLOADED),
    midStream: [
      { event: 'error', data: { type: 'error', sequence_number: 2, error: RESPONSES_OVERLOADED } },
      {
        event: 'response.failed',
        data: {
          type: 'response.failed',
          sequence_number: 3,
          response: {
            id: 'resp_68385e5a7e24819183f253bb719dc07001ca7b10f5dfcbf1',
            object: 'response',
            status: 'failed',
            error: { code: RESPONSES_OVERLOADED.code, message: RESPONSES_OVERLOADED.message },
          },
        },
      },
    ],
  },
};

const CHAT_SERVER_ERROR = OPENAI['server error'].body;

const CHAT: Record<ProviderError, ErrorAnswer> = {
  ...OPENAI,
  'no permission': missingScope('model.request'),
  'unknown model': openai(404, {
    message: 'The model `gpt-9` does not exist or you do not have access to it.',
    type: INVALID,
    code: 'model_not_found',
  }),
  'unsupported effort': unsupportedEffort('reasoning_effort'),
  overload: openai(503, {
    message: 'The engine is currently overloaded, please try again later',
    type: 'server_error',
    code: null,
  }),
  'prompt too long': openai(400, {
    message:
      "This model's maximum context length is 128000 tokens. However, your messages resulted in 131072 tokens. Please reduce the length of the messages.",
    type: INVALID,
    code: 'context_length_exceeded',
    param: 'messages',
  }),
  'overload in mid-stream': {
    ...answer(500, CHAT_SERVER_ERROR),
    midStream: [{ data: CHAT_SERVER_ERROR }],
  },
};

const geminiBody = (code: number, status: string, message: string, details: object[] = []) => ({
  error: { code, message, status, ...(details.length > 0 && { details }) },
});
const gemini = (code: number, status: string, message: string, details: object[] = []) =>
  answer(code, geminiBody(code, status, message, details));
const because = (reason: string) => ({
  '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
  reason,
  domain: 'googleapis.com',
  metadata: { service: 'generativelanguage.googleapis.com' },
});
const GEMINI_OVERLOADED = geminiBody(503, 'UNAVAILABLE', 'The model is overloaded. Please try again later.');

const GENERATE_CONTENT: Record<ProviderError, ErrorAnswer> = {
  'no credit': gemini(
    429,
    'RESOURCE_EXHAUSTED',
    'Your prepayment credits are depleted. Please go to AI Studio at https://ai.studio/projects to manage your project and billing.',
  ),
  'spend limit': gemini(
    429,
    'RESOURCE_EXHAUSTED',
    'Your project has exceeded its monthly spending cap. Please go to AI Studio at https://ai.studio/spend to manage your project spend cap.',
  ),
  'account on hold': gemini(
    403,
    'PERMISSION_DENIED',
    "Permission denied: Consumer 'api_key:AIza-test' has been suspended.",
    [because('CONSUMER_SUSPENDED')],
  ),
  'bad key': gemini(400, 'INVALID_ARGUMENT', 'API key not valid. Please pass a valid API key.', [
    because('API_KEY_INVALID'),
  ]),
  'expired login': gemini(400, 'INVALID_ARGUMENT', 'API key expired. Please renew the API key.', [
    because('API_KEY_INVALID'),
  ]),
  'no permission': gemini(
    403,
    'PERMISSION_DENIED',
    'Generative Language API has not been used in project 123456789012 before or it is disabled. Enable it by visiting https://console.developers.google.com/apis/api/generativelanguage.googleapis.com/overview?project=123456789012 then retry. If you enabled this API recently, wait a few minutes for the action to propagate to our systems and retry.',
    [because('SERVICE_DISABLED')],
  ),
  'unknown model': gemini(
    404,
    'NOT_FOUND',
    'models/gemini-9 is not found for API version v1beta, or is not supported for generateContent. Call ListModels to see the list of available models and their supported methods.',
  ),
  'unsupported effort': gemini(400, 'INVALID_ARGUMENT', 'thinking_level is not supported by this model'),
  'rate limit': gemini(
    429,
    'RESOURCE_EXHAUSTED',
    'You exceeded your current quota, please check your plan and billing details. For more information on this error, head to: https://ai.google.dev/gemini-api/docs/rate-limits.\nPlease retry in 1.5s.',
    [
      {
        '@type': 'type.googleapis.com/google.rpc.QuotaFailure',
        violations: [
          {
            quotaMetric: 'generativelanguage.googleapis.com/generate_content_free_tier_requests',
            quotaId: 'GenerateRequestsPerMinutePerProjectPerModel-FreeTier',
            quotaValue: '5',
          },
        ],
      },
      { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '1s' },
    ],
  ),
  overload: answer(503, GEMINI_OVERLOADED),
  'server error': gemini(
    500,
    'INTERNAL',
    'An internal error has occurred. Please retry or report in https://developers.generativeai.google/guide/troubleshooting',
  ),
  'prompt too long': gemini(
    400,
    'INVALID_ARGUMENT',
    'The input token count (1091639) exceeds the maximum number of tokens allowed (1048576).',
  ),
  'overload in mid-stream': {
    ...answer(503, GEMINI_OVERLOADED),
    midStream: [{ data: GEMINI_OVERLOADED }],
  },
};

/** Of each wire, by name. */
export const ANSWERED: Readonly<Record<Protocol, Readonly<Record<ProviderError, ErrorAnswer>>>> = {
  messages: MESSAGES,
  responses: RESPONSES,
  chat: CHAT,
  generateContent: GENERATE_CONTENT,
};
