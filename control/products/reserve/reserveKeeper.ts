import type { Logger } from 'pino'
import { GatewayError } from '../../../contract/errors/errors.ts'
import { tryLock } from '../../runtime/db/locks.ts'
import { type Pool, withTransaction } from '../../runtime/db/pool.ts'
import { logEvent } from '../../runtime/logEvents.ts'
import { Loop } from '../../runtime/loop.ts'
import type { ReserveLimits } from './limits.ts'
import { type ReserveChain, readReserve } from './reading.ts'
import { type LastReading, lastReading, storeReading } from './readingStore.ts'
import { type StatedReserve, statedReserve } from './statedReserve.ts'
import { type WithdrawalGate, withdrawalGate } from './withdrawalGate.ts'

export interface ReserveKeeperOptions {
  readonly pool: Pool
  /** Undefined where the gateway has no chain. */
  readonly chain: ReserveChain | undefined
  readonly log: Logger
  readonly limits: ReserveLimits
}

/** Reads the reserve periodically, in one of the controls, and logs when withdrawals pause and resume. */
export function reserveKeeper(options: ReserveKeeperOptions): Loop {
  const { pool, chain, log, limits } = options
  let told: WithdrawalGate | undefined
  return new Loop('reserve', limits.reserveCheckMs, log, async () => {
    let last = await lastReading(pool)
    if (isDue(last, limits)) {
      // Read again: another control may have read a moment ago.
      await tryLock(pool, 'reserveReadings', async () => {
        if (isDue(await lastReading(pool), limits)) await read(options)
      })
      last = await lastReading(pool)
    }
    if (chain !== undefined) told = tell(options, told, last)
  })
}

async function read({ pool, chain, log }: ReserveKeeperOptions): Promise<void> {
  try {
    await withTransaction(pool, async (client) => {
      await client.query('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ')
      const reading = await readReserve(client, chain)
      if (reading !== undefined) await storeReading(client, statedReserve(reading))
    })
  } catch (error) {
    // Withdrawals pause when readings keep failing, and that pause is reported.
    if (!(error instanceof GatewayError)) throw error
    logEvent(log, 'reserve_read_failed', { err: error })
  }
}

/** Logs a change of the gate. @returns the gate that was logged last */
function tell(
  { log, limits }: ReserveKeeperOptions,
  told: WithdrawalGate | undefined,
  reading: LastReading | undefined,
): WithdrawalGate | undefined {
  const gate = withdrawalGate(reading, limits)
  const isStart = told === undefined
  // A start reads nothing before the chain has answered.
  if (gate === told || (isStart && gate === 'stale')) return told
  if (gate === 'open') {
    if (!isStart) logEvent(log, 'reserve_recovered', factsOf(reading?.reserve))
  } else if (gate === 'short') logEvent(log, 'reserve_short', factsOf(reading?.reserve))
  else logEvent(log, 'reserve_stale', { ageMs: reading?.ageMs })
  return gate
}

function isDue(reading: LastReading | undefined, limits: ReserveLimits): boolean {
  if (reading === undefined) return true
  const { ageMs, at, shortReadings } = reading
  const isYesterdays = new Date(at.getTime() + ageMs).getUTCDate() !== at.getUTCDate()
  return isYesterdays || ageMs >= (shortReadings > 0 ? limits.reserveRecheckMs : limits.reserveReadMs)
}

function factsOf(reserve: StatedReserve | undefined) {
  return { heldUsd: reserve?.held_usd, owedUsd: reserve?.owed_usd, ratio: reserve?.ratio, block: reserve?.block }
}
