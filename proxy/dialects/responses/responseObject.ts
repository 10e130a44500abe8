import { answerEnd } from '../../../contract/api/completion.ts'
import { promptTokens, type TokenUsage } from '../../../contract/money/charge.ts'
import type { FinishReason } from '../shared/message.ts'

/** The constant members of a response, repeated in every copy. */
export interface ResponseHead {
  /** The request id. */
  readonly id: string
  readonly createdAtMs: number
  /** Public model id. */
  readonly model: string
  /** Members of the request that the response echoes, as JSON. */
  readonly echo: string
}

/** The progress of a response. */
export interface ResponseProgress {
  readonly status: 'in_progress' | 'completed' | 'incomplete' | 'failed'
  /** The output items as JSON texts. */
  readonly output: readonly string[]
  readonly usage: TokenUsage | null
  readonly error: { readonly code: string | null; readonly message: string } | null
  /** Why it is incomplete. */
  readonly reason: string | null
  /** The receipt as JSON text, or ''. */
  readonly receipt: string
}

/** A response that has nothing yet. */
export const BEGUN: ResponseProgress = {
  status: 'in_progress',
  output: [],
  usage: null,
  error: null,
  reason: null,
  receipt: '',
}

const INCOMPLETE: Partial<Record<FinishReason, string>> = {
  length: 'max_output_tokens',
  content_filter: 'content_filter',
}

/** Why a message that ended so is incomplete as a response; null when it is whole. */
export function incompleteReason(finish: FinishReason): string | null {
  return INCOMPLETE[finish] ?? null
}

/** A response object as JSON text, with every member that the format requires. Nothing is stored. */
export function responseJson(head: ResponseHead, progress: ResponseProgress): string {
  const { usage, receipt } = progress
  return responseStart(head, progress) + answerEnd(usage === null ? 'null' : responseUsageJson(usage), receipt)
}

/** A response object up to its usage. */
export function responseStart(head: ResponseHead, progress: Omit<ResponseProgress, 'usage' | 'receipt'>): string {
  const { status, output, error, reason } = progress
  const completedAt = status === 'completed' ? String(Math.floor(Date.now() / 1000)) : 'null'
  return (
    `{"id":"${head.id}","object":"response","created_at":${Math.floor(head.createdAtMs / 1000)}` +
    `,"completed_at":${completedAt},"status":"${status}"` +
    `,"error":${error === null ? 'null' : JSON.stringify({ code: error.code ?? 'server_error', message: error.message })}` +
    `,"incomplete_details":${reason === null ? 'null' : `{"reason":"${reason}"}`}` +
    `,"model":${JSON.stringify(head.model)},"output":[${output.join(',')}],"previous_response_id":null` +
    ',"background":false,"store":false,"service_tier":"default","truncation":"disabled","max_tool_calls":null' +
    `,${head.echo}`
  )
}

/** The usage of a response as JSON. */
export function responseUsageJson(usage: TokenUsage): string {
  const prompt = promptTokens(usage)
  return (
    `{"input_tokens":${prompt},"input_tokens_details":{"cached_tokens":${usage.cachedInput}` +
    `,"cache_write_tokens":${usage.cacheWrite5m + usage.cacheWrite1h}},"output_tokens":${usage.output}` +
    `,"output_tokens_details":{"reasoning_tokens":${usage.reasoning}},"total_tokens":${prompt + usage.output}}`
  )
}
