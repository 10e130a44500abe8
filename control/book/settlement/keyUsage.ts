import { HOUR_MS } from '../../../contract/api/time.ts'
import { assertMoney } from '../../../contract/money/moneyFault.ts'
import { shardOf } from '../../../contract/wire/redisKeys.ts'
import { intArray, textArray } from '../../runtime/db/arrays.ts'
import { locking } from '../../runtime/db/lockOrder.ts'
import type { Client } from '../../runtime/db/pool.ts'
import type { Receipt } from '../receipt/generated/receipt.ts'

/** The charges of a key, burnt tokens included. */
export interface KeySpending {
  readonly keyId: string
  readonly accountId: string
  units: number
}

interface Usage extends KeySpending {
  readonly hour: number
  requests: number
}

const UPSERT = `
  INSERT INTO key_usage AS u (key_id, hour, account_id, shard, units, requests)
  SELECT * FROM unnest($1::text[], $2::integer[], $3::text[], $4::smallint[], $5::bigint[], $6::bigint[])
  ON CONFLICT (key_id, hour) DO UPDATE
    SET units = u.units + excluded.units, requests = u.requests + excluded.requests`

/**
 * Adds receipts, including burnt tokens at their locked price, to the hourly usage of keys. The hour is that of the hold, as in
 * the windows of admission.
 * @returns what was added
 */
export async function addKeyUsage(client: Client, receipts: readonly Receipt[]): Promise<readonly KeySpending[]> {
  const byKey = new Map<string, Usage[]>()
  for (const { keyId, accountId, heldAtMs, chargeUnits, lockUnits } of receipts) {
    const hour = Math.floor(heldAtMs / HOUR_MS)
    let usages = byKey.get(keyId)
    if (usages === undefined) {
      usages = []
      byKey.set(keyId, usages)
    }
    let usage = usages.find((one) => one.hour === hour)
    if (usage === undefined) {
      usage = { keyId, hour, accountId, units: 0, requests: 0 }
      usages.push(usage)
    }
    const units = chargeUnits + lockUnits
    assertMoney(units >= 0, 'counter_not_negative', keyId, units, usage.units)
    usage.units += units
    usage.requests++
  }
  const usages = [...byKey.values()].flat()
  await upsert(client, usages)
  return usages
}

/** Adds coin that a key has moved elsewhere, which counts against its caps as a charge does. */
export async function addDebitUsage(
  client: Client,
  debit: { keyId: string; accountId: string; takenAtMs: number; units: number },
): Promise<void> {
  const { keyId, accountId, takenAtMs, units } = debit
  await upsert(client, [{ keyId, hour: Math.floor(takenAtMs / HOUR_MS), accountId, units, requests: 0 }])
}

async function upsert(client: Client, rows: readonly Usage[]): Promise<void> {
  if (rows.length === 0) return
  locking(client, 'keyUsage', () => rows.map(({ keyId }) => keyId))
  await client.query({
    name: 'settlement_key_usage',
    text: UPSERT,
    values: [
      textArray(rows.map((row) => row.keyId)),
      intArray(rows.map((row) => row.hour)),
      textArray(rows.map((row) => row.accountId)),
      intArray(rows.map((row) => shardOf(row.accountId))),
      intArray(rows.map((row) => row.units)),
      intArray(rows.map((row) => row.requests)),
    ],
  })
}
