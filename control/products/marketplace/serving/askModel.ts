import { DIALECT, type Dialect } from '../../../../contract/catalog/dialects.ts'
import { withOwnQuery } from '../../../../contract/providers/ownParts.ts'
import type { Reach } from '../../../../contract/providers/reach.ts'
import { randomAttemptId } from '../../../../contract/wire/attemptIds.ts'
import { CallError, type CallHttp } from '../../../runtime/net/httpCall.ts'
import type { MarketplaceLimits } from '../limits.ts'
import type { ProbeAnswer } from './compareAnswers.ts'
import type { Comparison } from './comparison.ts'
import { bodyOf, readAnswer } from './probeFormats.ts'

/** A model of a provider, as comparisons reach it. */
export interface AskedModel {
  /** Without a slash at its end. */
  readonly baseUrl: string
  readonly dialect: Dialect
  /** '' for a provider that takes none. */
  readonly apiKey: string
  /** Its own headers by name, and its own query without the question mark; absent for none. */
  readonly headers?: Readonly<Record<string, string>>
  readonly query?: string
  /** How it is reached; absent is directly. */
  readonly reach?: Reach
  /** The provider's own name of it. */
  readonly model: string
  /** The name of the output limit that the provider knows. */
  readonly maxTokensField: string
  /** For providers that the operator has named. */
  readonly allowPrivate: boolean
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
  try {
    const { status, body } = await call({
      method: 'POST',
      url: new URL(asked.baseUrl + withOwnQuery(DIALECT[asked.dialect].chatPath, asked.query)),
      headers: { ...headersOf(asked, comparison.stream), 'x-request-id': randomAttemptId() },
      body: JSON.stringify(bodyOf(asked, comparison)),
      timeoutMs: limits.providerProbeTimeoutMs,
      answerBytesMax: limits.providerProbeBytesMax,
      allowPrivate: asked.allowPrivate,
      reach: asked.reach,
      bare: true,
    })
    return status === 200 ? readAnswer(asked.dialect, body.toString()) : undefined
  } catch (error) {
    if (error instanceof CallError) return undefined
    throw error
  }
}

function headersOf({ dialect, apiKey, headers: own }: AskedModel, isStreamed: boolean): Record<string, string> {
  const accept = isStreamed ? 'text/event-stream' : 'application/json'
  const headers = { 'content-type': 'application/json', accept, 'accept-encoding': 'identity' }
  return { ...headers, ...DIALECT[dialect].headers(apiKey), ...own }
}
