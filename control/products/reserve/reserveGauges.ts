import { parseUsd } from '../../../contract/money/units.ts'
import type { Queryable } from '../../runtime/db/pool.ts'
import { type GaugeGroup, gaugeGroup } from '../../runtime/metrics/metricGroups.ts'
import { attestationProgress } from './attestationStore.ts'
import type { ReserveLimits } from './limits.ts'
import { lastReading } from './readingStore.ts'
import { withdrawalGate } from './withdrawalGate.ts'

/** The last reading of the reserve, and the last attestation, whichever control made them; 0 before the first. */
export function reserveGauges(db: Queryable, limits: ReserveLimits): GaugeGroup {
  return gaugeGroup(
    {
      reserve_held_units: 'Holdings on the chain against the debts, at most 2^53 - 1',
      reserve_owed_units: 'Debts to accounts and payers',
      reserve_short: '1 while less is held than owed',
      reserve_reading_age_seconds: 'Age of the last reading of the reserve',
      withdrawals_paused: '1 while withdrawals are not taken',
      attestation_age_seconds: 'Age of the last attestation; 0 for none',
    },
    async () => {
      const [reading, { last }] = await Promise.all([lastReading(db), attestationProgress(db)])
      const isPaused = reading?.reserve.network != null && withdrawalGate(reading, limits) !== 'open'
      return {
        reserve_held_units: unitsIn(reading?.reserve.held_usd),
        reserve_owed_units: unitsIn(reading?.reserve.owed_usd),
        reserve_short: Number(reading?.reserve.covered === false),
        reserve_reading_age_seconds: (reading?.ageMs ?? 0) / 1_000,
        withdrawals_paused: Number(isPaused),
        attestation_age_seconds: (last?.ageMs ?? 0) / 1_000,
      }
    },
  )
}

function unitsIn(usd: string | undefined): number {
  if (usd === undefined) return 0
  return parseUsd(usd) ?? Number.MAX_SAFE_INTEGER
}
