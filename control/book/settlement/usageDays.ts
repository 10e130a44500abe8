import { DAY_MS } from '../../../contract/api/time.ts'
import { intArray, textArray } from '../../runtime/db/arrays.ts'
import type { Client } from '../../runtime/db/pool.ts'
import type { Receipt } from '../receipt/generated/receipt.ts'

interface UsageDay {
  readonly accountId: string
  readonly day: number
  readonly keyId: string
  readonly model: string
  requests: number
  units: number
  inputTokens: number
  cachedInputTokens: number
  outputTokens: number
}

const UPSERT = `
  INSERT INTO usage_days AS u
    (account_id, day, key_id, model, requests, units, input_tokens, cached_input_tokens, output_tokens)
  SELECT * FROM unnest($1::text[], $2::integer[], $3::text[], $4::text[], $5::bigint[], $6::bigint[], $7::bigint[],
    $8::bigint[], $9::bigint[])
  ON CONFLICT (account_id, day, key_id, model) DO UPDATE
    SET requests = u.requests + excluded.requests, units = u.units + excluded.units,
      input_tokens = u.input_tokens + excluded.input_tokens,
      cached_input_tokens = u.cached_input_tokens + excluded.cached_input_tokens,
      output_tokens = u.output_tokens + excluded.output_tokens`

/** Adds receipts to the usage by day of the hold, key and model: one statement, one row for each of these in a batch. */
export async function addUsageDays(client: Client, receipts: readonly Receipt[]): Promise<void> {
  const rows = sumsOf(receipts)
  if (rows.length === 0) return
  await client.query({
    name: 'settlement_usage_days',
    text: UPSERT,
    values: [
      textArray(rows.map((row) => row.accountId)),
      intArray(rows.map((row) => row.day)),
      textArray(rows.map((row) => row.keyId)),
      textArray(rows.map((row) => row.model)),
      intArray(rows.map((row) => row.requests)),
      intArray(rows.map((row) => row.units)),
      intArray(rows.map((row) => row.inputTokens)),
      intArray(rows.map((row) => row.cachedInputTokens)),
      intArray(rows.map((row) => row.outputTokens)),
    ],
  })
}

function sumsOf(receipts: readonly Receipt[]): UsageDay[] {
  // A key has few days and models in a batch: looking through those takes less than a name of all four.
  const byKey = new Map<string, UsageDay[]>()
  for (const receipt of receipts) {
    let sums = byKey.get(receipt.keyId)
    if (sums === undefined) {
      sums = []
      byKey.set(receipt.keyId, sums)
    }
    add(sumFor(sums, receipt), receipt)
  }
  return [...byKey.values()].flat()
}

function sumFor(sums: UsageDay[], { accountId, keyId, model, heldAtMs }: Receipt): UsageDay {
  const day = Math.floor(heldAtMs / DAY_MS)
  for (const sum of sums) if (sum.day === day && sum.model === model && sum.accountId === accountId) return sum
  const sum = {
    accountId,
    day,
    keyId,
    model,
    requests: 0,
    units: 0,
    inputTokens: 0,
    cachedInputTokens: 0,
    outputTokens: 0,
  }
  sums.push(sum)
  return sum
}

function add(sum: UsageDay, receipt: Receipt): void {
  sum.requests++
  sum.units += receipt.chargeUnits
  sum.inputTokens +=
    receipt.inputTokens + receipt.cachedInputTokens + receipt.cacheWrite5mTokens + receipt.cacheWrite1hTokens
  sum.cachedInputTokens += receipt.cachedInputTokens
  sum.outputTokens += receipt.outputTokens
}
