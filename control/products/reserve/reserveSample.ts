import { parseUsd } from '../../../contract/money/units.ts'
import type { Limits } from '../../limits.ts'
import type { Queryable } from '../../runtime/db/pool.ts'
import { attestationProgress } from './attestationStore.ts'
import { lastReading } from './readingStore.ts'
import { withdrawalGate } from './withdrawalGate.ts'

/** The reserve as metrics show it. */
export interface ReserveSample {
  /** In units, as far as they can be counted exactly; 0 before the first reading. */
  readonly heldUnits: number
  readonly owedUnits: number
  /** Less is held than owed by the last reading. */
  readonly isShort: boolean
  /** Withdrawals are not taken. */
  readonly isPaused: boolean
  /** Of the last reading; 0 before the first. */
  readonly ageSeconds: number
  /** Of the last attestation; 0 before the first. */
  readonly attestationAgeSeconds: number
}

export const NO_RESERVE: ReserveSample = {
  heldUnits: 0,
  owedUnits: 0,
  isShort: false,
  isPaused: false,
  ageSeconds: 0,
  attestationAgeSeconds: 0,
}

/** Reads the last reading of the reserve, whichever control read it. @throws errors of PostgreSQL */
export async function sampleReserve(db: Queryable, limits: Limits): Promise<ReserveSample> {
  const [reading, { last }] = await Promise.all([lastReading(db), attestationProgress(db)])
  const attestationAgeSeconds = (last?.ageMs ?? 0) / 1_000
  if (reading === undefined) return { ...NO_RESERVE, attestationAgeSeconds }
  const { reserve, ageMs } = reading
  return {
    heldUnits: unitsIn(reserve.held_usd),
    owedUnits: unitsIn(reserve.owed_usd),
    isShort: reserve.covered === false,
    isPaused: reserve.network !== null && withdrawalGate(reading, limits) !== 'open',
    ageSeconds: ageMs / 1_000,
    attestationAgeSeconds,
  }
}

function unitsIn(usd: string): number {
  return parseUsd(usd) ?? Number.MAX_SAFE_INTEGER
}
