import { modelRates } from '../../contract/catalog/catalog.ts'
import type { ModelRates } from '../../contract/money/charge.ts'
import { MICROS_PER_TOKEN } from '../../contract/money/lockTokens.ts'
import type { sluice } from '../../contract/wire/generated/messages.js'

/** A series of compute locks: tokens of a model at a price that is fixed until a month ends. */
export interface LockSeries {
  readonly id: string
  /** The provider of requests that burn its tokens. */
  readonly provider: string
  readonly endsAtMs: number
  /** Units of a micro-token at the locked price, an integer. */
  readonly microUnits: number
  /** Units per million tokens of the model, by class. */
  readonly rates: ModelRates
}

export const NO_SERIES: readonly LockSeries[] = []

/** The series of each model, the soonest to end first. */
export function seriesByModel(
  records: readonly sluice.LockSeriesRecord.$Properties[],
): ReadonlyMap<string, readonly LockSeries[]> {
  const byModel = new Map<string, LockSeries[]>()
  for (const record of records) {
    const model = record.model ?? ''
    const series = byModel.get(model) ?? []
    byModel.set(model, series)
    series.push(decodeSeries(record))
  }
  for (const series of byModel.values()) series.sort((a, b) => a.endsAtMs - b.endsAtMs || (a.id < b.id ? -1 : 1))
  return byModel
}

function decodeSeries(record: sluice.LockSeriesRecord.$Properties): LockSeries {
  return {
    id: record.id ?? '',
    provider: record.provider ?? '',
    endsAtMs: record.endsAtMs ?? 0,
    microUnits: (record.tokenUnits ?? 0) / MICROS_PER_TOKEN,
    rates: modelRates(record.price ?? {}),
  }
}
