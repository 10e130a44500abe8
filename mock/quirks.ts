import type { ReportedUsage } from './reportedUsage.ts'

type Members = Readonly<Record<string, unknown>>

/** The differences of one provider from the dialect, as the mock provider imitates them with `as=NAME`. */
export interface Quirks {
  /** The page that states them. */
  readonly source: string
  /** Options of the mock that it always has, as a model name lists them. */
  readonly options?: string
  /** Members of a chat request that it refuses, and the status. */
  readonly refuses?: { readonly members: readonly string[]; readonly status: number }
  /** Its finish reason in place of stop. */
  readonly stop?: string
  /** The member with the text of reasoning. */
  readonly reasoning?: string
  /** `completion_tokens` lack the reasoning: the total alone has it, or the details as well. */
  readonly addedReasoning?: 'total' | 'details'
  /** More members of usage. */
  readonly usage?: (usage: ReportedUsage) => Members
  /** More members of every chunk and answer. */
  readonly chunk?: Members
  /** More members of the chunk with the finish reason, and of an answer in one piece. @param usage JSON text */
  readonly last?: (usage: string | undefined) => Members
  /** A tool call comes whole in one chunk, without an index. */
  readonly wholeTool?: boolean
  /** The body of an error. */
  readonly error?: (status: number, message: string, retryAfter: number | undefined) => unknown
  /** The headers that say when to come again, where they are others than Retry-After in seconds. */
  readonly retryHeaders?: (seconds: number, nowMs: number) => Readonly<Record<string, string>>
}

const parsed = (usage: string | undefined): unknown => (usage === undefined ? undefined : JSON.parse(usage))

const GOOGLE_STATUS: Readonly<Record<number, string>> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  404: 'NOT_FOUND',
  429: 'RESOURCE_EXHAUSTED',
}
const googleError: NonNullable<Quirks['error']> = (code, message, retryAfter) => {
  const details = retryAfter === undefined ? [] : [{ '@type': 'RetryInfo', retryDelay: `${retryAfter}s` }]
  return [{ error: { code, message, status: GOOGLE_STATUS[code] ?? 'INTERNAL', details } }]
}

/** By the names of the presets of the catalog; a test compares. */
export const QUIRKS: Readonly<Record<string, Quirks>> = {
  openai: {
    source: 'https://platform.openai.com/docs/api-reference/chat/create',
    refuses: { members: ['max_tokens'], status: 400 },
  },
  anthropic: { source: 'https://docs.anthropic.com/en/api/errors' },
  azure: {
    source: 'https://learn.microsoft.com/azure/ai-services/openai/concepts/content-filter',
    options: 'preamble=azure',
    retryHeaders: (seconds) => ({ 'retry-after-ms': String(seconds * 1000) }),
    refuses: { members: ['max_tokens'], status: 400 },
    error: (status, message) => ({ error: { code: String(status), message } }),
  },
  bedrock: {
    source: 'https://docs.aws.amazon.com/bedrock/latest/userguide/inference-chat-completions.html',
    error: (_status, message) => ({ message }),
  },
  gemini: {
    source: 'https://ai.google.dev/gemini-api/docs/openai',
    options: 'usage=every',
    addedReasoning: 'total',
    wholeTool: true,
    error: googleError,
    retryHeaders: () => ({}),
  },
  groq: {
    source: 'https://console.groq.com/docs/openai',
    refuses: { members: ['logprobs', 'logit_bias', 'top_logprobs'], status: 400 },
    reasoning: 'reasoning',
    usage: () => ({ queue_time: 0.01, prompt_time: 0.002, completion_time: 0.1, total_time: 0.102 }),
    last: (usage) => ({ x_groq: { id: 'req_01mock', usage: parsed(usage) } }),
  },
  together: {
    source: 'https://docs.together.ai/reference/chat-completions-1',
    options: 'usage=finish',
    stop: 'eos',
    reasoning: 'reasoning',
  },
  fireworks: {
    source: 'https://docs.fireworks.ai/tools-sdks/openai-compatibility',
    options: 'usage=finish',
    error: (status, message) => ({
      error: { object: 'error', type: 'invalid_request_error', code: String(status), message },
    }),
  },
  deepseek: {
    source: 'https://api-docs.deepseek.com/api/create-chat-completion',
    options: 'comments',
    usage: ({ prompt_tokens: prompt, prompt_tokens_details: details }) => ({
      prompt_cache_hit_tokens: details?.cached_tokens ?? 0,
      prompt_cache_miss_tokens: prompt - (details?.cached_tokens ?? 0),
    }),
  },
  moonshot: {
    source: 'https://platform.moonshot.ai/docs/api/chat',
    options: 'usage=finish',
    usage: ({ prompt_tokens_details: details }) => ({ cached_tokens: details?.cached_tokens ?? 0 }),
    error: (status, message) => ({ error: { message, type: status === 429 ? 'rate_limit_reached_error' : 'error' } }),
  },
  mistral: {
    source: 'https://docs.mistral.ai/api',
    options: 'usage=finish',
    refuses: {
      members: ['max_completion_tokens', 'stream_options', 'logit_bias', 'logprobs', 'seed', 'user', 'service_tier'],
      status: 422,
    },
    usage: ({ prompt_tokens_details: details }) => ({ num_cached_tokens: details?.cached_tokens ?? 0 }),
    error: (status, message) =>
      status === 422
        ? { object: 'error', message: { detail: [{ type: 'extra_forbidden', loc: ['body'], msg: message }] } }
        : { object: 'error', message, type: 'invalid_request_error', param: null, code: String(status) },
  },
  xai: {
    source: 'https://docs.x.ai/docs/guides/reasoning',
    addedReasoning: 'details',
    usage: () => ({ num_sources_used: 0 }),
    error: (_status, message) => ({ code: 'The request failed', error: message }),
  },
  perplexity: {
    source: 'https://docs.perplexity.ai/api-reference/chat-completions-post',
    options: 'usage=every',
    chunk: {
      citations: ['https://example.com/1'],
      search_results: [{ title: 'A page', url: 'https://example.com/1' }],
    },
    usage: () => ({ search_context_size: 'low', cost: { total_cost: 0.005 } }),
    error: (code, message) => ({ error: { message, type: 'invalid_request', code } }),
  },
  cerebras: {
    source: 'https://inference-docs.cerebras.ai/resources/openai',
    refuses: { members: ['frequency_penalty', 'presence_penalty', 'logit_bias', 'service_tier'], status: 400 },
    reasoning: 'reasoning',
    last: () => ({ time_info: { queue_time: 0.001, prompt_time: 0.001, completion_time: 0.1, total_time: 0.102 } }),
    error: (status, message) => ({ message, type: 'invalid_request_error', param: null, code: String(status) }),
  },
  openrouter: {
    source: 'https://openrouter.ai/docs/api-reference/streaming',
    options: 'comments',
    reasoning: 'reasoning',
    chunk: { provider: 'Mock' },
    retryHeaders: (seconds, nowMs) => ({
      'x-ratelimit-limit': '20',
      'x-ratelimit-remaining': '0',
      'x-ratelimit-reset': String(nowMs + seconds * 1000),
    }),
    usage: () => ({ cost: 0.0001, is_byok: false }),
    error: (code, message) => ({ error: { code, message, metadata: { provider_name: 'Mock' } }, user_id: 'user_mock' }),
  },
  cohere: {
    source: 'https://docs.cohere.com/docs/compatibility-api',
    refuses: {
      members: ['store', 'metadata', 'logit_bias', 'top_logprobs', 'service_tier', 'parallel_tool_calls'],
      status: 400,
    },
    error: (_status, message) => ({ id: 'mock', message }),
  },
  vllm: {
    source: 'https://docs.vllm.ai/en/latest/serving/openai_compatible_server.html',
    options: 'err_body=vllm',
    chunk: { kv_transfer_params: null },
  },
  sglang: {
    source: 'https://docs.sglang.ai/basic_usage/openai_api_completions.html',
    error: (code, message) => ({ object: 'error', message, type: 'BadRequest', param: null, code }),
  },
  ollama: {
    source: 'https://github.com/ollama/ollama/blob/main/docs/openai.md',
    reasoning: 'reasoning',
    error: (_status, message) => ({ error: { message, type: 'api_error', param: null, code: null } }),
  },
  lmstudio: {
    source: 'https://lmstudio.ai/docs/app/api/endpoints/openai',
    last: () => ({ stats: {} }),
    error: (_status, message) => ({ error: message }),
  },
}

/** JSON text of an object with more members. */
export function withMembers(json: string, members: Members | undefined): string {
  const more = members === undefined ? '{}' : JSON.stringify(members)
  return more === '{}' ? json : `${json.slice(0, -1)},${more.slice(1)}`
}

/** The JSON text of usage as a provider reports it. */
export function usageText(quirks: Quirks | undefined, usage: ReportedUsage): string {
  return JSON.stringify({ ...usage, ...quirks?.usage?.(usage) })
}
