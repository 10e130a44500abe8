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

interface Column {
  readonly name: string
  /** Appends the column's value of a receipt. */
  readonly put: (rows: CopyRows, receipt: Receipt) => void
}

const text = (name: string, of: (receipt: Receipt) => string): Column => ({
  name,
  put: (rows, receipt) => rows.text(of(receipt)),
})
const integer = (name: string, type: 'bigint' | 'integer' | 'smallint', of: (receipt: Receipt) => number): Column => ({
  name,
  put: (rows, receipt) => rows[type](of(receipt)),
})
const flag = (name: string, of: (receipt: Receipt) => boolean): Column => ({
  name,
  put: (rows, receipt) => rows.boolean(of(receipt)),
})

const COLUMNS: readonly Column[] = [
  text('request_id', (r) => r.requestId),
  text('account_id', (r) => r.accountId),
  text('key_id', (r) => r.keyId),
  text('model', (r) => r.model),
  text('endpoint', (r) => r.endpoint),
  text('provider', (r) => r.provider),
  integer('sheet_version', 'integer', (r) => r.sheetVersion),
  text('status', (r) => r.status),
  text('error_code', (r) => r.errorCode),
  flag('streamed', (r) => r.streamed),
  integer('hold_units', 'bigint', (r) => r.holdUnits),
  integer('charge_units', 'bigint', (r) => r.chargeUnits),
  flag('voided', (r) => r.voided),
  text('split', (r) => r.split),
  integer('input_tokens', 'bigint', (r) => r.inputTokens),
  integer('cached_input_tokens', 'bigint', (r) => r.cachedInputTokens),
  integer('cache_write_5m_tokens', 'bigint', (r) => r.cacheWrite5mTokens),
  integer('cache_write_1h_tokens', 'bigint', (r) => r.cacheWrite1hTokens),
  integer('output_tokens', 'bigint', (r) => r.outputTokens),
  integer('reasoning_tokens', 'bigint', (r) => r.reasoningTokens),
  integer('quantity', 'bigint', (r) => r.quantity),
  text('unit', (r) => r.unit),
  text('usage_source', (r) => r.usageSource),
  flag('clamped', (r) => r.clamped),
  integer('held_at_ms', 'bigint', (r) => r.heldAtMs),
  integer('started_at_ms', 'bigint', (r) => r.startedAtMs),
  integer('first_byte_ms', 'integer', (r) => r.firstByteMs),
  integer('duration_ms', 'integer', (r) => r.durationMs),
  text('rate', (r) => r.rate),
  text('tier', (r) => r.tier),
  text('size', (r) => r.size),
  text('attestation', (r) => r.attestation),
  text('lock_series', (r) => r.lockSeries),
  integer('lock_units', 'bigint', (r) => r.lockUnits),
  integer('lock_micros', 'bigint', (r) => r.lockMicros),
  integer('leaf_layout', 'smallint', (r) => r.leafLayout),
  { name: 'leaf_hash', put: (rows, receipt) => rows.bytea(receipt.leafHash) },
]

const TABLE = `receipts (log, position, ${COLUMNS.map(({ name }) => name).join(', ')})`
/** The usual maximum of a row. */
const EXPECTED_BYTES = 640

/** The place of a receipt: its usage log, and its position in that. */
export interface Place {
  readonly log: number
  readonly position: number
}

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
  const rows = new CopyRows(2 + COLUMNS.length, receipts.length * EXPECTED_BYTES)
  for (const [i, receipt] of receipts.entries()) {
    const place = places[i]
    if (place === undefined) throw new Error(`receipt ${receipt.requestId} has no place`)
    rows.row()
    rows.smallint(place.log)
    rows.bigint(place.position)
    for (const { put } of COLUMNS) put(rows, receipt)
  }
  await copyRows(client, TABLE, rows)
}
