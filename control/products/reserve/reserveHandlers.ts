import { GatewayError } from '../../../contract/errors/errors.ts'
import type { ApiCall, ReadHandler } from '../../api/call.ts'
import { listJson, pageOf } from '../../api/lists.ts'
import { signerOfNumber } from '../../catalog/signing/catalogStore.ts'
import type { Queryable } from '../../runtime/db/pool.ts'
import { type Attestation, attestationNumbered, lastAttestation } from './attestationStore.ts'
import { attestationStatement } from './attestationText.ts'
import { liabilityJson } from './liabilityJson.ts'
import type { ReserveLimits } from './limits.ts'
import { publicReserve } from './publicReserve.ts'
import { lastReading, pageOfDays, type ReserveDay } from './readingStore.ts'
import { withdrawalGate } from './withdrawalGate.ts'

type ReserveOperation =
  | 'get_reserve'
  | 'list_reserve_days'
  | 'get_latest_attestation'
  | 'get_attestation'
  | 'get_liability'

/** The reads of the reserve, and each account's proof that it is counted. */
export function reserveHandlers(db: Queryable, limits: ReserveLimits): Record<ReserveOperation, ReadHandler> {
  return {
    get_reserve: { read: async () => ({ json: await reserveJson(db, limits) }) },
    list_reserve_days: {
      read: async (call) => {
        const { limit, after } = pageOf(call, limits)
        return { json: listJson((await pageOfDays(db, limit + 1, after)).map(dayJson), limit) }
      },
    },
    get_latest_attestation: { read: async () => ({ json: await attestationJson(db, await lastAttestation(db)) }) },
    get_attestation: {
      read: async (call) => {
        const number = numberOf(call)
        const found = number === undefined ? undefined : await attestationNumbered(db, number)
        return { json: await attestationJson(db, found) }
      },
    },
    get_liability: {
      read: async ({ caller, accountId }) => {
        // A sub-key's holder must learn nothing about the account.
        if (caller.kind === 'key' && caller.isSubKey) throw new GatewayError('permission_denied')
        return { json: await liabilityJson(db, accountId) }
      },
    },
  }
}

/** GET /v1/reserve. @throws GatewayError not_found before the first reading */
async function reserveJson(db: Queryable, limits: ReserveLimits) {
  const reading = await lastReading(db)
  if (reading === undefined) {
    throw new GatewayError('not_found', { message: 'The reserve has not been read yet; try again in some seconds.' })
  }
  const { reserve, at } = reading
  const withdrawals = reserve.network === null ? null : withdrawalGate(reading, limits)
  return { object: 'reserve' as const, ...publicReserve(reserve), withdrawals, read_at: at.toISOString() }
}

function dayJson({ day, first, firstAt, last, lastAt }: ReserveDay) {
  return {
    object: 'reserve_day' as const,
    day,
    first: { ...publicReserve(first), read_at: firstAt.toISOString() },
    last: { ...publicReserve(last), read_at: lastAt.toISOString() },
  }
}

function numberOf({ params }: ApiCall): number | undefined {
  const text = params['number'] ?? ''
  const number = Number(text)
  return /^[1-9]\d*$/.test(text) && Number.isSafeInteger(number) ? number : undefined
}

/** An attestation with all that it is verified with. @throws GatewayError attestation_not_found */
async function attestationJson(db: Queryable, found: Attestation | undefined) {
  if (found === undefined) throw new GatewayError('attestation_not_found')
  const { number, statement, digest, signatures } = found
  const signer = await signerOfNumber(db, found.signer)
  if (signer === undefined) throw new Error(`signer ${found.signer} of an attestation is not in the book`)
  return {
    ...(JSON.parse(statement) as Record<string, unknown>),
    statement,
    sha256: digest,
    message: attestationStatement(number, digest),
    signatures: [
      { algorithm: 'eip191' as const, signer: signer.keys.address, signature: signatures.eip191 },
      { algorithm: 'ed25519' as const, signer: signer.keys.ed25519, signature: signatures.ed25519 },
    ],
  }
}
