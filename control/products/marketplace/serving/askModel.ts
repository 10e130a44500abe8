import { DIALECT, type Dialect } from '../../../../contract/catalog/dialects.ts'
import { randomAttemptId } from '../../../../contract/wire/attemptIds.ts'
import { CallError, type CallHttp } from '../../../runtime/net/httpCall.ts'
import type { MarketplaceLimits } from '../limits.ts'
import type { ProbeAnswer } from './compareAnswers.ts'
import type { Comparison } from './comparison.ts'
import { readAnswer } from './probeAnswer.ts'

/** A model of a provider, as comparisons reach it. */
export interface AskedModel {
  /** Without a slash at its end. */
  readonly baseUrl: string
  readonly dialect: Dialect
  /** '' for a provider that takes none. */
  readonly apiKey: string
  /** The provider's own name of it. */
  readonly model: string
  /** The name of the output limit that the provider knows. */
  readonly maxTokensField: string
  /** For providers that the operator has named. */
  readonly allowPrivate: boolean
}

/** Where each dialect is asked, below the base path, and by which body. */
const REQUESTS: Readonly<
  Record<Dialect, { path: string; body: (asked: AskedModel, comparison: Comparison) => Record<string, unknown> }>
> = {
  openai: { path: '/chat/completions', body: openaiBody },
  anthropic: { path: '/messages', body: anthropicBody },
}

/**
 * Asks a model in the form in which proxies pass on requests of customers: the same headers in the same order, an id like those
 * of their attempts, the members of the body where proxies put them.
 * @returns undefined without a usable answer: an error, a timeout, or a malformed body
 */
export async function askModel(
  asked: AskedModel,
  comparison: Comparison,
  call: CallHttp,
  limits: MarketplaceLimits,
): Promise<ProbeAnswer | undefined> {
  const { path, body: bodyOf } = REQUESTS[asked.dialect]
  try {
    const { status, body } = await call({
      method: 'POST',
      url: new URL(asked.baseUrl + path),
      headers: { ...headersOf(asked, comparison.stream), 'x-request-id': randomAttemptId() },
      body: JSON.stringify(bodyOf(asked, comparison)),
      timeoutMs: limits.providerProbeTimeoutMs,
      answerBytesMax: limits.providerProbeBytesMax,
      allowPrivate: asked.allowPrivate,
      bare: true,
    })
    return status === 200 ? readAnswer(asked.dialect, body.toString()) : undefined
  } catch (error) {
    if (error instanceof CallError) return undefined
    throw error
  }
}

function headersOf({ dialect, apiKey }: AskedModel, isStreamed: boolean): Record<string, string> {
  const accept = isStreamed ? 'text/event-stream' : 'application/json'
  const headers = { 'content-type': 'application/json', accept, 'accept-encoding': 'identity' }
  return { ...headers, ...DIALECT[dialect].headers(apiKey) }
}

function openaiBody({ model, maxTokensField }: AskedModel, comparison: Comparison): Record<string, unknown> {
  const { prompt, stream, maxTokens, limitName, temperature } = comparison
  const system = prompt.system === undefined ? [] : [{ role: 'system', content: prompt.system }]
  return {
    model,
    [maxTokensField === '' ? limitName : maxTokensField]: maxTokens,
    ...(stream && { stream, stream_options: { include_usage: true } }),
    messages: [...system, { role: 'user', content: prompt.text }],
    ...(temperature !== undefined && { temperature }),
  }
}

function anthropicBody({ model }: AskedModel, comparison: Comparison): Record<string, unknown> {
  const { prompt, stream, maxTokens, temperature } = comparison
  return {
    model,
    max_tokens: maxTokens,
    ...(stream && { stream }),
    ...(temperature !== undefined && { temperature }),
    ...(prompt.system !== undefined && { system: prompt.system }),
    messages: [{ role: 'user', content: prompt.text }],
  }
}
