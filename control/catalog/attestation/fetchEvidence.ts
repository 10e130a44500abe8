import type { Reach } from '../../../contract/providers/reach.ts'
import { type CallHttp, callHttp } from '../../runtime/net/httpCall.ts'
import type { CatalogLimits } from '../limits.ts'

/** A request for a provider's evidence. */
export interface EvidenceRequest {
  /** Of the policy. */
  readonly url: string
  /** Of the provider's endpoints. */
  readonly baseUrl: string
  /** '' for none. */
  readonly apiKey: string
  /** 32 bytes in hex. */
  readonly nonce: string
  /** How the address is reached; absent is directly. */
  readonly reach?: Reach | undefined
}

/**
 * Asks a provider for evidence.
 * @returns its answer, byte for byte
 * @throws Error with a readable message when it returns none: CallError, or a status other than 200
 */
export async function fetchEvidence(
  { url, baseUrl, apiKey, nonce, reach }: EvidenceRequest,
  limits: CatalogLimits,
  call: CallHttp = callHttp,
): Promise<Buffer> {
  const asked = new URL(url)
  asked.searchParams.set('nonce', nonce)
  // The key is for the provider alone.
  const isProvider = apiKey !== '' && asked.origin === new URL(baseUrl).origin
  const { status, body } = await call({
    method: 'GET',
    url: asked,
    headers: { accept: 'application/json', ...(isProvider && { authorization: `Bearer ${apiKey}` }) },
    timeoutMs: limits.attestationTimeoutMs,
    answerBytesMax: limits.attestationBytesMax,
    allowPrivate: true,
    reach,
  })
  if (status !== 200) throw new Error(`${asked.host}: answered with status ${status}`)
  return body
}
