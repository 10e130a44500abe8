import type { ProviderError } from './providerError.ts'
import { type RequestPart, refusedPart, SENTENCE_CHARACTERS_MAX } from './requestPart.ts'

/**
 * Whose fault an error answer of a provider is.
 * - `account`: of the gateway's own account there: no money, revoked, suspended. Clients never see it.
 * - `context`: the prompt is too long for the model.
 * - `request`: the request itself.
 * - `rate`: too many requests for now.
 * - `route`: the provider does not have the model or the path.
 * - `timeout`: the provider gave up waiting.
 * - `provider`: anything else.
 */
export type FaultOwner = 'account' | 'context' | 'request' | 'rate' | 'route' | 'timeout' | 'provider'

export interface ProviderFault {
  readonly owner: FaultOwner
  /** The part that a request is refused for; absent for none. */
  readonly part?: RequestPart
  /** The name in the table that decided; '' where the status or the sentence did. */
  readonly name: string
  /**
   * The provider has said by a name or a status for this alone that the account is at fault. A sentence
   * in an answer that refuses the request may be an echo of the request.
   */
  readonly certain: boolean
}

/** Codes, types and reasons of providers, in lower case. They decide before the status. */
const NAMES: Readonly<Partial<Record<FaultOwner, readonly string[]>>> = {
  account: [
    'insufficient_quota',
    'insufficient_user_quota',
    'insufficient_balance',
    'insufficient_credit',
    'insufficient_credits',
    'insufficient_funds',
    'billing_hard_limit_reached',
    'billing_not_active',
    'billing_disabled',
    'billing_error',
    'exceeded_current_quota_error',
    'credit_balance_too_low',
    'payment_required',
    'account_deactivated',
    'account_suspended',
    'account_disabled',
    'accountoverdueerror',
    'arrearage',
    'organization_deactivated',
    'organization_disabled',
    'organization_suspended',
    'consumer_suspended',
    'access_terminated',
    'access_terminated_error',
    'authentication_error',
    'invalid_authentication_error',
    'invalid_api_key',
    'incorrect_api_key',
    'incorrect_api_key_error',
    'api_key_invalid',
    'api_key_expired',
    'api_key_revoked',
    'key_revoked',
    'unauthenticated',
    'unauthorized',
    'organization_restricted',
    'blocked_api_access',
    'budget_exceeded',
    'not_enough_balance',
    // Zhipu, https://docs.bigmodel.cn/cn/faq/api-code, and MiniMax, https://platform.minimax.io/docs/api-reference/errorcode.
    '1110',
    '1112',
    '1113',
    '1121',
    '1309',
    'base_resp_1004',
    'base_resp_1008',
    'base_resp_2049',
  ],
  context: [
    'context_length_exceeded',
    'context_window_exceeded',
    'model_context_window_exceeded',
    'exceed_context_size_error',
    'model_max_prompt_tokens_exceeded',
    'tokens_limit_reached',
    '1261',
  ],
  request: [
    'content_policy_violation',
    'content_filter',
    'responsibleaipolicyviolation',
    'data_inspection_failed',
    'datainspectionfailed',
    '1301',
    'base_resp_1026',
    'base_resp_1027',
    'base_resp_1042',
    'base_resp_2013',
  ],
  rate: [
    'rate_limit_error',
    'rate_limit_exceeded',
    'rate_limit_reached_error',
    'ratelimitexceeded',
    'too_many_requests',
    'throttlingexception',
    '1302',
    '1303',
    '1305',
    'base_resp_1002',
    'base_resp_1039',
    'base_resp_1041',
    'base_resp_2045',
    'base_resp_2056',
  ],
  route: [
    'model_not_found',
    'model_not_available',
    'model_not_supported',
    'model_decommissioned',
    'model_terms_required',
    'invalid_model',
    'unknown_model',
    'unavailable_model',
    'not_found_error',
    '1211',
  ],
  timeout: ['timeout_error', 'deadline_exceeded', 'base_resp_1001'],
  provider: [
    'internal_error',
    'internal_server_error',
    'internalservererror',
    'overloaded_error',
    'engine_overloaded',
    'engine_overloaded_error',
    'service_unavailable',
    'service_unavailable_error',
    'unavailable',
    // The model wrote what the provider cannot read, as Groq says it with the status of a bad request.
    'tool_use_failed',
    'json_validate_failed',
    'output_parse_failed',
  ],
}
const OWNER_OF: ReadonlyMap<string, FaultOwner> = new Map(
  (Object.keys(NAMES) as FaultOwner[]).flatMap((owner) => (NAMES[owner] ?? []).map((name) => [name, owner] as const)),
)

/** Words in which providers say that a prompt is too long. */
const CONTEXT: readonly RegExp[] = [
  /maximum (?:context|prompt) length/i,
  /context_length_exceeded|context window|too many tokens(?!,? (?:please wait|per))/i,
  /(?:prompt|input) is too long|prompt exceeds max length/i,
  /exceeded model token limit|range of input length should be/i,
  /exceeds? (?:the )?(?:available )?context/i,
  /context length (?:is|of) only \d/i,
  /greater than the context length/i,
  /`?inputs`? must have less than \d+ tokens/i,
  /input length \(\d+ tokens\) exceeds/i,
  /tokens in request more than max tokens allowed/i,
  /number of input tokens[^.]{0,20} has exceeded/i,
  /\binput (?:\(\d+ tokens\) )?is too large to process/i,
  /longer than the (?:model's context length|maximum model length)/i,
  /(?:input|prompt) token count[^.]{0,40} exceeds the (?:maximum number of tokens|limit)/i,
  /`?inputs`? tokens \+ `?max_new_tokens`? must be/i,
  /input token count is \d+ but (?:the )?model (?:only )?supports up to/i,
  // The number is the rest for the answer; a client's own -1 has one digit.
  /max_(?:completion_)?tokens must be at least 1, got -[1-9]\d+/i,
  /context size has been exceeded/i,
  /prompt length \(\d+\) exceeds maximum/i,
  /length \(\d+\) is greater than max_seq_len/i,
]

/** Words in which providers speak of an account without naming it. */
const ACCOUNT: readonly RegExp[] = [
  /credit balance is too low/i,
  /billing (?:hard )?limit has been reached/i,
  /(?:monthly|account|organization|project)'?s? (?:spending|spend|usage) (?:cap|limit)/i,
  /(?:run|ran) out of (?:credits|quota|funds|money)/i,
  /insufficient (?:account )?(?:balance|credits?|funds|quota)/i,
  /requires more credits/i,
  /credits? (?:are|is) depleted/i,
  /balance is insufficient|not enough balance/i,
  /(?:account|organization|project|subscription|workspace)[^.]{0,60}\b(?:suspended|deactivated|disabled|terminated|overdue|in arrears|not active)/i,
  /api key[^.]{0,40}\b(?:revoked|expired|disabled|deactivated|not valid)/i,
  /(?:invalid|incorrect) api key/i,
  /exceeded your current quota/i,
  /specified API usage limits/i,
  /enable billing/i,
  /余额不足|欠费/,
]

/** Words in which providers say that they do not serve a model, or not to this account. */
const ROUTE: readonly RegExp[] = [
  /^model (?:(?:does )?not exist|not found)\b/i,
  /^operation not allowed\b/i,
  /\bwith on-demand throughput\b/i,
  /\bmodel identifier is invalid\b/i,
  /\bmodel\b[^.]{0,60}\bdecommissioned\b/i,
  /\borganization must be verified\b/i,
  /\buser location is not supported\b/i,
  /\bis not a valid model id\b/i,
  /\binvalid model name passed in model=/i,
  /\bno such model\b/i,
]

/** Words in which providers refuse a request for its content, with the status of a forbidden one. */
const CONTENT: readonly RegExp[] = [
  /\b(?:input|prompt|content)\b[^.]{0,40}\b(?:was |been )?flagged\b/i,
  /\bcontent violates\b[^.]{0,40}\b(?:guidelines|polic)/i,
]
/** The status of a function that is out of order, as NVIDIA says it. */
const DEGRADED = /\bDEGRADED function\b/
/** Alibaba's and SenseNova's tokens of a minute. */
const RATE_QUOTA = /^allocated quota exceeded/i
const QUOTED = /'[^']*'|"[^"]*"|`[^`]*`/g

/** Whose fault an error answer is: by its names, then by its sentence, then by its status. @param status not 2xx */
export function faultOf(status: number, error: ProviderError): ProviderFault {
  const fault = ownerOf(status, error)
  const part = PARTED.has(fault.owner) ? refusedPart(error.message) : undefined
  return part === undefined ? fault : { ...fault, part }
}

/** A model that takes no images may be none of the route, and others of its routes may take them. */
const PARTED: ReadonlySet<FaultOwner> = new Set(['request', 'route'])

function ownerOf(status: number, error: ProviderError): ProviderFault {
  const names = error.names ?? [error.code.toLowerCase()]
  for (const owner of ['account', 'context'] as const) {
    const name = names.find((one) => OWNER_OF.get(one) === owner)
    if (name !== undefined && !isQuotaForNow(status, name, error)) return { owner, name, certain: true }
  }
  // The tokens that are too many for a rate are those of a minute or a day.
  if (status !== TOO_MANY && CONTEXT.some((pattern) => pattern.test(error.message) || pattern.test(error.code)))
    return { owner: 'context', name: '', certain: true }
  if (saysAccount(error)) return { owner: 'account', name: '', certain: status !== 400 && status !== 422 }
  const name = names.find((one) => OWNER_OF.has(one))
  const owner = ownerOfStatus(status)
  // A status that is more precise than a name's class stays, such as 413 for an invalid request.
  if (name !== undefined && (owner === 'request' || owner === 'provider' || owner === 'account')) {
    return { owner: OWNER_OF.get(name) ?? owner, name, certain: true }
  }
  return { owner: ownerBySentence(owner, error), name: '', certain: status === 402 }
}

/** The owner by the status, unless the sentence says more. */
function ownerBySentence(owner: FaultOwner, { message }: ProviderError): FaultOwner {
  const says = (patterns: readonly RegExp[]) => patterns.some((pattern) => pattern.test(sentenceOf(message)))
  if (owner === 'request') return says(ROUTE) ? 'route' : DEGRADED.test(sentenceOf(message)) ? 'provider' : owner
  return owner === 'account' && says(CONTENT) ? 'request' : owner
}

/** The sentence of an error, without parts in quotes, which may be the request's. */
export function sentenceOf(message: string): string {
  return message.replace(QUOTED, '').slice(0, SENTENCE_CHARACTERS_MAX)
}

const TOO_MANY = 429
/** Misdirected, a failed dependency, too early, no capacity, as Groq says it, and a request that the provider cancelled. */
const NOT_OF_REQUESTS: ReadonlySet<number> = new Set([421, 424, 425, 498, 499])

/** The meaning of a status alone. */
export function ownerOfStatus(status: number): FaultOwner {
  if (status === 401 || status === 402 || status === 403) return 'account'
  if (status === 404 || status === 405 || status === 410) return 'route'
  if (status === 408 || status === 504) return 'timeout'
  if (status === TOO_MANY) return 'rate'
  return status >= 400 && status < 500 && !NOT_OF_REQUESTS.has(status) ? 'request' : 'provider'
}

function saysAccount({ message, retryAfterMs }: ProviderError): boolean {
  // The same words mean a limit by the minute where the answer says when to come again.
  if (retryAfterMs !== undefined) return false
  const sentence = sentenceOf(message)
  return ACCOUNT.some((pattern) => pattern.test(sentence))
}

/** @param name of the table: some providers have the one for an empty account for a rate as well */
function isQuotaForNow(status: number, name: string, { retryAfterMs, message }: ProviderError): boolean {
  return name.includes('quota') && (retryAfterMs !== undefined || (status === TOO_MANY && RATE_QUOTA.test(message)))
}
