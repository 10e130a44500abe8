import assert from 'node:assert/strict'
import type { ReportedUsage, Served } from '../../bench/provider.ts'
import type { Receipt } from './chatClient.ts'

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
  const { usage } = lines[0]
  assert.ok(usage !== null, `the provider reported no usage for ${receipt.request_id}`)
  assert.equal(receipt.cost.units, String(chargeOf(usage, prices)))
}
