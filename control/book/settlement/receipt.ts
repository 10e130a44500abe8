import { boolArray, byteaArray, intArray, textArray } from '../../runtime/db/arrays.ts'
import type { Client } from '../../runtime/db/pool.ts'
import type { LoggedReceipt } from '../usagelog/leafText.ts'

/** A row of `receipts` before it has its place in the usage log. */
export interface Receipt extends LoggedReceipt {
  readonly accountId: string
  readonly keyId: string
  readonly provider: string
  readonly voided: boolean
  /** Where the charge was taken from: grantId=units,...,coin=units:nanos. */
  readonly split: string
  readonly startedAtMs: number
  readonly firstByteMs: number
  leafHash: Buffer
}

interface Column {
  readonly name: string
  readonly type: string
  /** The column's values of all rows, as the text of one array. */
  readonly array: (receipts: readonly Receipt[]) => string
}

const text = (name: string, of: (receipt: Receipt) => string): Column => ({
  name,
  type: 'text',
  array: (receipts) => textArray(receipts.map(of)),
})
const integer = (name: string, type: 'bigint' | 'integer' | 'smallint', of: (receipt: Receipt) => number): Column => ({
  name,
  type,
  array: (receipts) => intArray(receipts.map(of)),
})
const flag = (name: string, of: (receipt: Receipt) => boolean): Column => ({
  name,
  type: 'boolean',
  array: (receipts) => boolArray(receipts.map(of)),
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
  integer('leaf_layout', 'smallint', (r) => r.leafLayout),
  { name: 'leaf_hash', type: 'bytea', array: (receipts) => byteaArray(receipts.map((r) => r.leafHash)) },
]

const INSERT = `
  INSERT INTO receipts (log, position, ${COLUMNS.map((column) => column.name).join(', ')})
  SELECT * FROM unnest($1::smallint[], $2::bigint[],
    ${COLUMNS.map((column, i) => `$${i + 3}::${column.type}[]`).join(', ')})`

/** Where a receipt stands: in which usage log, and at which position of that. */
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
  const values = [
    intArray(places.map(({ log }) => log)),
    intArray(places.map(({ position }) => position)),
    ...COLUMNS.map((column) => column.array(receipts)),
  ]
  await client.query({ name: 'settlement_receipts', text: INSERT, values })
}
