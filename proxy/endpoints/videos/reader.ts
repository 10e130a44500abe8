import { VideoState } from '../../../contract/catalog/video.ts'
import { GatewayError } from '../../../contract/errors/errors.ts'
import { hashSecret, isId } from '../../../contract/wire/ids.ts'
import { readApiKey, readReadToken } from '../../access/credential.ts'
import type { KeyCache } from '../../access/keyCache.ts'
import type { Principal } from '../../access/principal.ts'
import type { Exchange, RequestHead } from '../../server/exchange.ts'
import { checkKey } from '../run/checkKey.ts'
import type { StoredVideo, VideoStore } from './videoStore.ts'

/** The client that asks for a job: a key, or the holder of a read token. */
type Reader = { readonly principal: Principal } | { readonly tokenHash: string }

/**
 * Finds the job of a request if the client may read it: with the key that made it, or with the read token of a job that was
 * paid per request.
 * @param videoId as it is in the path
 * @throws GatewayError 401 or 403 for the credential, 404 for an unknown job, 503 while Redis is down
 */
export async function readJob(
  exchange: Exchange,
  videoId: string,
  keys: KeyCache,
  store: VideoStore,
): Promise<StoredVideo> {
  const reader = await readerOf(exchange, keys)
  const stored = isId('video', videoId) ? await lookUp(store, videoId) : null
  const paid = stored !== null && stored.job.readTokenHash !== ''
  if (paid && !('tokenHash' in reader && reader.tokenHash === stored.job.readTokenHash)) {
    throw new GatewayError('read_token_required')
  }
  if (reader instanceof GatewayError) throw reader
  if (stored === null) throw new GatewayError('not_found', { message: 'There is no video job with this id.' })
  if (paid) return stored
  if ('tokenHash' in reader) {
    throw new GatewayError('wrong_credential', { message: 'This job is read with the API key that it was made with.' })
  }
  if (reader.principal.keyId !== stored.job.keyId) throw new GatewayError('permission_denied')
  return stored
}

/** @throws GatewayError gateway_restart for a job that was given up with the process that followed it */
export function refuseLost({ state, held }: StoredVideo): void {
  if (state === VideoState.LOST || (state < VideoState.MADE && !held)) throw new GatewayError('gateway_restart')
}

/** A missing credential is kept as the error that it is, because the job decides which one is missing. */
async function readerOf({ head, startedAtMs }: Exchange, keys: KeyCache): Promise<Reader | GatewayError> {
  const token = readReadToken(head)
  if (token !== '') return { tokenHash: hashSecret(token) }
  if (isAnonymous(head)) return missingCredential(head)
  const principal = await keys.find(readApiKey(head), startedAtMs)
  checkKey(principal, startedAtMs)
  return { principal }
}

function isAnonymous(head: RequestHead): boolean {
  return head.authorization === '' && head.apiKey === ''
}

function missingCredential(head: RequestHead): GatewayError {
  try {
    readApiKey(head)
    return new GatewayError('invalid_api_key')
  } catch (error) {
    if (error instanceof GatewayError) return error
    throw error
  }
}

async function lookUp(store: VideoStore, videoId: string): Promise<StoredVideo | null> {
  try {
    return await store.read(videoId)
  } catch (cause) {
    throw new GatewayError('admission_unavailable', { retryAfterSeconds: 1, cause })
  }
}
