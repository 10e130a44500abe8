import assert from 'node:assert/strict'
import pg from 'pg'
import type { Served } from '../../mock/main.ts'
import { chargeOf } from './reconcile.ts'
import type { WorkloadResult } from './workload.ts'

interface BookedRow {
  readonly request_id: string
  readonly status: string
  readonly usage_source: string
  readonly charge_units: string
  readonly hold_units: string
}

/** Statuses of requests that are charged. */
const CHARGED = new Set(['ok', 'partial'])

/**
 * Asserts that the book has what clients saw and what the provider served, and nothing of it otherwise.
 * @param log of the provider, of the requests since the last check
 */
export async function assertBookMatches(
  databaseUrl: string,
  results: readonly WorkloadResult[],
  log: readonly Served[],
): Promise<void> {
  const shown = results.flatMap(({ answered }) => answered)
  const served = log.flatMap(({ request_id }) => (request_id === null ? [] : [request_id]))
  const begun = results.flatMap((result) => result.begun)
  const booked = await rowsOf(databaseUrl, [...shown.map(({ request_id }) => request_id), ...served, ...begun])
  assert.equal(new Set(shown.map(({ request_id }) => request_id)).size, shown.length, 'a receipt was shown twice')
  for (const { request_id, status, cost } of shown) {
    const row = booked.get(request_id)
    assert.deepEqual([row?.status, row?.charge_units], [status, cost.units], `${request_id} as its client saw it`)
  }
  for (const requestId of served) assert.ok(booked.has(requestId), `${requestId} was served and is not in the book`)
  for (const requestId of begun) assert.ok(booked.has(requestId), `${requestId} was answered and is not in the book`)
  const whole = new Map<string, Served[]>()
  for (const line of log) {
    const { request_id: id, outcome } = line
    if (id !== null && outcome === 'complete') whole.set(id, [...(whole.get(id) ?? []), line])
  }
  for (const row of booked.values()) assertCharged(row, whole.get(row.request_id) ?? [])
}

/** @param whole what the provider served of it to the end */
function assertCharged(row: BookedRow, whole: readonly Served[]): void {
  const { request_id, status, usage_source, charge_units, hold_units } = row
  if (!CHARGED.has(status)) assert.equal(charge_units, '0', `${request_id} is ${status}`)
  if (status !== 'ok' || usage_source !== 'reported') return
  assert.equal(whole.length, 1, `the provider served ${request_id} ${whole.length} times`)
  const usage = whole[0]?.usage
  assert.ok(usage !== null && usage !== undefined, `the provider reported no usage for ${request_id}`)
  assert.equal(Number(charge_units), Math.min(chargeOf(usage), Number(hold_units)), request_id)
}

async function rowsOf(databaseUrl: string, requestIds: readonly string[]): Promise<Map<string, BookedRow>> {
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  try {
    const found = await client.query<BookedRow>(
      `SELECT request_id, status, usage_source, charge_units::text, hold_units::text FROM receipts
       WHERE request_id = ANY ($1::text[])`,
      [requestIds],
    )
    const rows = new Map(found.rows.map((row) => [row.request_id, row]))
    assert.equal(rows.size, found.rows.length, 'a request has two receipts')
    return rows
  } finally {
    await client.end()
  }
}
