import { CopyRows, copyRows } from '../../runtime/db/copy.ts'
import type { Client } from '../../runtime/db/pool.ts'
import type { LoggedReceipt } from '../usagelog/leafText.ts'

/** A row of `receipts` before it has its place in the usage log. */
export interface Receipt extends LoggedReceipt {
  readonly accountId: string
  readonly keyId: string
  readonly provider: string
  readonly voided: boolean
  /** The report of attested hardware that the private tier was served by, or ''. */
  readonly attestation: string
  /** Where the charge was taken from: grantId=units,...,coin=units:nanos. */
  readonly split: string
  readonly startedAtMs: number
  readonly firstByteMs: number
  /** Tokens of a lock that were burnt, in millionths. */
  readonly lockMicros: number
  leafHash: Buffer
}

/** The place of a receipt: its usage log, and its position in that. */
export interface Place {
  readonly log: number
  readonly position: number
}

/** The columns in the order in which `put` writes them. */
const COLUMNS = `log, position, request_id, account_id, key_id, model, endpoint, provider, sheet_version, status, error_code,
  streamed, hold_units, charge_units, voided, split, input_tokens, cached_input_tokens, cache_write_5m_tokens,
  cache_write_1h_tokens, output_tokens, reasoning_tokens, quantity, unit, usage_source, clamped, held_at_ms, started_at_ms,
  first_byte_ms, duration_ms, rate, tier, size, attestation, lock_series, lock_units, lock_micros, leaf_layout, leaf_hash`
const COLUMN_COUNT = COLUMNS.split(',').length

/** Statements rather than a table of columns, which would call two functions for every field of every receipt. */
function put(rows: CopyRows, { log, position }: Place, receipt: Receipt): void {
  rows.row()
  rows.smallint(log)
  rows.bigint(position)
  rows.text(receipt.requestId)
  rows.text(receipt.accountId)
  rows.text(receipt.keyId)
  rows.text(receipt.model)
  rows.text(receipt.endpoint)
  rows.text(receipt.provider)
  rows.integer(receipt.sheetVersion)
  rows.text(receipt.status)
  rows.text(receipt.errorCode)
  rows.boolean(receipt.streamed)
  rows.bigint(receipt.holdUnits)
  rows.bigint(receipt.chargeUnits)
  rows.boolean(receipt.voided)
  rows.text(receipt.split)
  rows.bigint(receipt.inputTokens)
  rows.bigint(receipt.cachedInputTokens)
  rows.bigint(receipt.cacheWrite5mTokens)
  rows.bigint(receipt.cacheWrite1hTokens)
  rows.bigint(receipt.outputTokens)
  rows.bigint(receipt.reasoningTokens)
  rows.bigint(receipt.quantity)
  rows.text(receipt.unit)
  rows.text(receipt.usageSource)
  rows.boolean(receipt.clamped)
  rows.bigint(receipt.heldAtMs)
  rows.bigint(receipt.startedAtMs)
  rows.integer(receipt.firstByteMs)
  rows.integer(receipt.durationMs)
  rows.text(receipt.rate)
  rows.text(receipt.tier)
  rows.text(receipt.size)
  rows.text(receipt.attestation)
  rows.text(receipt.lockSeries)
  rows.bigint(receipt.lockUnits)
  rows.bigint(receipt.lockMicros)
  rows.smallint(receipt.leafLayout)
  rows.bytea(receipt.leafHash)
}

/** The usual maximum of a row. */
const EXPECTED_BYTES = 640

/**
 * Writes receipts in one statement.
 * @param places those of the receipts, in their order
 * @throws the database error 23505 when one is there already
 */
export async function insertReceipts(
  client: Client,
  places: readonly Place[],
  receipts: readonly Receipt[],
): Promise<void> {
  if (receipts.length === 0) return
  const rows = new CopyRows(COLUMN_COUNT, receipts.length * EXPECTED_BYTES)
  for (const [i, receipt] of receipts.entries()) {
    const place = places[i]
    if (place === undefined) throw new Error(`receipt ${receipt.requestId} has no place`)
    put(rows, place, receipt)
  }
  await copyRows(client, `receipts (${COLUMNS})`, rows)
}
