import { GATEWAY_WIDE, OPERATOR, recordActivity } from '../../runtime/activity/activity.ts'
import { lockUntilCommit } from '../../runtime/db/locks.ts'
import type { Client } from '../../runtime/db/pool.ts'
import type { CatalogLimits } from '../limits.ts'
import type { CatalogKey, SignerKeys } from './catalogKey.ts'
import { insertSigner, lastCatalog, listSigners } from './catalogStore.ts'
import { signCatalog } from './signCatalog.ts'
import { signerStatement } from './statements.ts'

/** A rotation that cannot be made; the message says why. */
export class RotationError extends Error {
  override readonly name = 'RotationError'
}

export interface Rotation {
  readonly number: number
  readonly keys: SignerKeys
  /** The first version of the catalog that the new key signs. */
  readonly fromVersion: number
}

/**
 * Makes another key the signer of catalogs, in the caller's transaction: the present one names it, both sign the statement, and
 * the new one signs the catalog in force again.
 * @param nowMs milliseconds since 1970
 * @throws RotationError
 */
export async function rotateSigner(
  client: Client,
  present: CatalogKey,
  next: CatalogKey,
  limits: CatalogLimits,
  nowMs: number = Date.now(),
): Promise<Rotation> {
  await lockUntilCommit(client, 'publication')
  const [signers, last] = [await listSigners(client), await lastCatalog(client)]
  const signer = signers.at(-1)
  if (signer === undefined || last === undefined) throw new RotationError('no catalog is signed yet: start control')
  const { address } = present.keys
  if (signer.keys.address !== address) {
    throw new RotationError(`the catalogs are signed by ${signer.keys.address}, and the present key is ${address}`)
  }
  if (signers.some(({ keys }) => keys.address === next.keys.address)) {
    throw new RotationError(`${next.keys.address} has signed catalogs before; a key does not come back`)
  }
  if (signers.length >= limits.catalogSignersMax) throw new RotationError('the signer was changed too often')
  const place = {
    number: signer.number + 1,
    keys: next.keys,
    fromVersion: last.version + 1,
    previousDigest: last.digest,
  }
  const statement = signerStatement(place)
  const [own, previous] = [await next.sign(statement), await present.sign(statement)]
  await insertSigner(client, { ...place, since: new Date(nowMs), statement, own, previous })
  const details = { from: address, to: next.keys.address }
  const change = { accountId: GATEWAY_WIDE, type: 'catalog.signer_rotated', target: next.keys.address, details }
  await recordActivity(client, OPERATOR, [change])
  await signCatalog(client, next, limits, nowMs)
  return place
}
