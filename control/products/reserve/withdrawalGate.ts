import { GatewayError } from '../../../contract/errors/errors.ts'
import type { WithdrawalState } from '../../../contract/wire/chainHealth.ts'
import type { Queryable } from '../../runtime/db/pool.ts'
import type { ReserveLimits } from './limits.ts'
import { type LastReading, lastReading } from './readingStore.ts'

/** Whether withdrawals are taken. `short`: less is held than owed. `stale`: the last reading is too old to decide. */
export type WithdrawalGate = 'open' | 'short' | 'stale'

/**
 * Decides withdrawals by the last reading of the reserve. A single reading may fall between a block and its entry in the
 * book; only a shortage in several readings counts.
 */
export function withdrawalGate(reading: LastReading | undefined, limits: ReserveLimits): WithdrawalGate {
  if (reading === undefined || reading.ageMs > limits.reserveReadingMaxMs) return 'stale'
  return reading.shortReadings >= limits.reserveShortReadings ? 'short' : 'open'
}

const MESSAGES = {
  short:
    'Withdrawals pause: the reserve on the chain is below what is owed. Nothing was taken. See GET /v1/reserve; try again later.',
  stale:
    'Withdrawals pause: the reserve on the chain was not read for some minutes. Nothing was taken; try again later.',
} as const

/** @throws GatewayError withdrawals_paused unless the reserve is known to cover the debts */
export async function requireReserve(db: Queryable, limits: ReserveLimits): Promise<void> {
  const gate = withdrawalGate(await lastReading(db), limits)
  if (gate === 'open') return
  throw new GatewayError('withdrawals_paused', {
    message: MESSAGES[gate],
    retryAfterSeconds: Math.ceil(limits.reserveRecheckMs / 1_000),
  })
}

/**
 * Whether withdrawals are taken, as shown to clients.
 * @param service that sends them; undefined where no chain is configured
 */
export async function withdrawalState(
  db: Queryable,
  service: { readonly isReady: boolean } | undefined,
  limits: ReserveLimits,
): Promise<WithdrawalState> {
  if (service === undefined) return 'not_configured'
  if (!service.isReady) return 'paused'
  return withdrawalGate(await lastReading(db), limits) === 'open' ? 'open' : 'paused'
}
