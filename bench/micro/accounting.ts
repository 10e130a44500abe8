import assert from 'node:assert/strict'
import type { Bench } from 'tinybench'
import type { ModelRates, TokenUsage } from '../../contract/money/charge.ts'
import { chargeUnits, resolveRateSet } from '../../contract/money/charge.ts'
import type { ReceiptFields } from '../../contract/money/receipt.ts'
import { receiptJson } from '../../contract/money/receipt.ts'
import { UNITS_PER_USD } from '../../contract/money/units.ts'
import { UsageReports } from '../../contract/money/usageReports.ts'
import { isId, newId } from '../../contract/wire/ids.ts'
import { promptTokensMax, sizeHold } from '../../proxy/admission/holdSize.ts'

const base = resolveRateSet({ input: 150_000_000, output: 600_000_000, cachedInput: 75_000_000 })
const rates: ModelRates = { ...base, longThreshold: 0, long: base }
const usage: TokenUsage = {
  input: 812,
  cachedInput: 188,
  cacheWrite5m: 0,
  cacheWrite1h: 0,
  output: 101,
  reasoning: 0,
}
/** In the spelling of Anthropic, which is not read by the short way of OpenAI's. */
const report = { input_tokens: 812, cache_read_input_tokens: 188, output_tokens: 101 }
const bounds = { promptTokensMax: 1_000_000, outputTokensMax: 1_000_000 }
const size = { textBytes: 4_000, messages: 6, images: 0 }
const receipt: ReceiptFields = {
  requestId: newId('req'),
  status: 'ok',
  model: 'acme/chat-small',
  endpoint: 'chat',
  sheetVersion: 1,
  rate: 'standard',
  tier: 'standard',
  costUnits: 196_500,
  holdUnits: 1_000_000,
  coinUsdUnits: UNITS_PER_USD,
  usage,
  quantity: 0,
  unit: '',
  size: '',
  attestation: '',
  usageSource: 'reported',
  clamped: false,
  streamed: true,
  createdMs: 1_763_683_200_000,
  durationMs: 1_204,
  firstByteMs: 310,
  tries: 1,
  errorCode: null,
}

/** Adds the hold, charge, id and receipt benches; each first proves that its result is the right one. */
export function addAccounting(bench: Bench): void {
  // 812 * 150 + 188 * 75 + 101 * 600 units, computed by hand.
  assert.equal(chargeUnits(rates, usage), 196_500)
  bench.add('charge of a usage', () => {
    chargeUnits(rates, usage)
  })
  assert.deepEqual(new UsageReports(bounds).noteIn({ usage: report }), true)
  bench.add('usage of a report', () => {
    new UsageReports(bounds).noteIn({ usage: report })
  })
  // 2000 tokens of text, 48 for six messages, 16 for the request; 1000 tokens of output.
  assert.equal(promptTokensMax(size, rates, 0), 2_064)
  assert.equal(sizeHold(rates, 2_064, 1_000, false).wantUnits, 2_064 * 150 + 1_000 * 600)
  bench.add('size of a hold', () => {
    sizeHold(rates, promptTokensMax(size, rates, 0), 1_000, false)
  })
  const other = newId('req')
  assert.ok(isId('req', other) && other !== receipt.requestId)
  bench.add('request id', () => {
    newId('req')
  })
  const parsed = JSON.parse(receiptJson(receipt)) as { cost: { units: string }; usage: { total_tokens: number } }
  assert.deepEqual([parsed.cost.units, parsed.usage.total_tokens], ['196500', 1_101])
  bench.add('receipt as JSON', () => {
    receiptJson(receipt)
  })
}
