import { AttemptIds } from '../../contract/wire/attemptIds.ts'
import { TEST_BUS_KEY } from './parts/sealedCalls.ts'

/** Of the gateways that tests start. */
export const attemptIds = new AttemptIds([Buffer.from(TEST_BUS_KEY, 'hex')])

/** The request that a provider was sent an attempt of; anything else that it has noted stays as it is. */
export function requestOf(attemptId: string): string {
  return attemptIds.read(attemptId)[0]?.requestId ?? attemptId
}

/** What a provider has noted, by the request ids that its ids are of. */
export function byRequest<T extends { readonly request_id: string | null }>(noted: readonly T[]): T[] {
  return noted.map((one) => (one.request_id === null ? one : { ...one, request_id: requestOf(one.request_id) }))
}
