import assert from 'node:assert/strict'
import type { ReportedUsage, Served, VideoJob } from '../../mock/main.ts'
import type { Receipt } from './clients/chatClient.ts'
import { itemOf } from './present.ts'

/** Units per token. */
export interface TokenPrices {
  readonly input: number
  readonly cached: number
  readonly output: number
  /** Absent: as input. */
  readonly write5m?: number
  readonly write1h?: number
}

/** TEST_PRICE: 1, 2 and 0.5 USD per million tokens. */
const TEST_PRICES: TokenPrices = { input: 1_000, cached: 500, output: 2_000 }

/** The charge for a usage in units. */
export function chargeOf(usage: ReportedUsage, prices: TokenPrices = TEST_PRICES): number {
  const {
    cached_tokens: cached = 0,
    cache_write_tokens: written = 0,
    cache_write_1h_tokens: hour = 0,
  } = usage.prompt_tokens_details ?? {}
  return (
    (usage.prompt_tokens - cached - written) * prices.input +
    cached * prices.cached +
    (written - hour) * (prices.write5m ?? prices.input) +
    hour * (prices.write1h ?? prices.input) +
    usage.completion_tokens * prices.output
  )
}

/** Asserts that a receipt charges what the provider's own log says it reported for the request. */
export function assertReconciled(receipt: Receipt, log: readonly Served[], prices: TokenPrices = TEST_PRICES): void {
  const lines = log.filter((line) => line.request_id === receipt.request_id && line.outcome === 'complete')
  assert.equal(lines.length, 1, `the provider served ${receipt.request_id} ${lines.length} times`)
  const { usage } = itemOf(lines, 0)
  assert.ok(usage !== null, `the provider reported no usage for ${receipt.request_id}`)
  assert.equal(receipt.cost.units, String(chargeOf(usage, prices)))
}

/**
 * Asserts that a receipt of a video job charges the seconds that the provider's own book bills for it, once.
 * @param secondUnits the price of a clip second
 */
export function assertSecondsReconciled(receipt: Receipt, jobs: readonly VideoJob[], secondUnits: number): void {
  const made = jobs.filter((job) => job.request_id === receipt.request_id && job.status === 'completed')
  assert.equal(made.length, 1, `the provider made ${made.length} clips for ${receipt.request_id}`)
  assert.equal(receipt.cost.units, String(itemOf(made, 0).seconds_billed * secondUnits))
}

/** A receipt of an operation that is counted. */
export interface CountedReceipt extends Receipt {
  readonly usage: Receipt['usage'] & { quantity?: number; unit?: string; size?: string }
}

/** Prices of the models of `mediaModel`, in units for so many. */
export const PRICES = {
  embedding: { units: 100_000_000, per: 1_000_000 },
  image: { units: 40_000_000, per: 1 },
  speech: { units: 15_000_000_000, per: 1_000_000 },
  transcription: { units: 100_000, per: 1 },
  rerank: { units: 2_000_000, per: 1 },
} as const
export type MediaModality = keyof typeof PRICES

/** The lines of the provider's log for a request. */
export function servedFor(requestId: string, log: readonly Served[]): Served[] {
  return log.filter((line) => line.request_id === requestId)
}

/** What a quantity costs at a price, rounded up. */
export function priceOf(modality: MediaModality, quantity: number): number {
  const { units, per } = PRICES[modality]
  return Number((BigInt(quantity) * BigInt(units) + BigInt(per) - 1n) / BigInt(per))
}

/** Asserts that a receipt charges what the provider's own log says it billed for the request, tokens or counted. */
export function assertCounted(receipt: CountedReceipt, modality: MediaModality, log: readonly Served[]): void {
  const lines = servedFor(receipt.request_id, log).filter((line) => line.status === 200)
  assert.equal(lines.length, 1, `the provider served ${receipt.request_id} ${lines.length} times`)
  const billed = modality === 'embedding' ? itemOf(lines, 0).usage?.prompt_tokens : itemOf(lines, 0).quantity
  assert.ok(typeof billed === 'number', `the provider billed nothing for ${receipt.request_id}`)
  const due = priceOf(modality, Math.ceil(billed))
  assert.equal(receipt.cost.units, String(receipt.clamped ? Math.min(due, Number(receipt.hold.units)) : due))
}
