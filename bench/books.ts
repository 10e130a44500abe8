import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import type { Books } from './results.ts'
import type { Stack } from './stack.ts'
import { countReceipts } from './stack.ts'

const BOOKED_TIMEOUT_MS = 120_000
const POLL_MS = 100

/**
 * Waits until every request has its receipt in the book, then audits it.
 * @param requests sent to Sluice since its start
 * @throws Error when receipts are missing or too many, or the audit finds something
 */
export async function checkBooks(stack: Stack, requests: number): Promise<Books> {
  const startMs = performance.now()
  const first = await countReceipts(stack.databaseUrl)
  let receipts = first
  while (receipts < requests && performance.now() - startMs < BOOKED_TIMEOUT_MS) {
    await sleep(POLL_MS)
    receipts = await countReceipts(stack.databaseUrl)
  }
  const backlogSeconds = (performance.now() - startMs) / 1_000
  const audit = await stack.cli(['audit'])
  if (receipts !== requests) throw new Error(`${requests} requests were served, the book has ${receipts} receipts`)
  if (audit.status !== 0) throw new Error(`the audit found something:\n${audit.output}`)
  return {
    requests,
    receipts,
    auditClean: true,
    auditOutput: audit.output.trim(),
    backlog: requests - first,
    backlogSeconds,
  }
}

/** The version of the PostgreSQL under the stack. */
export async function postgresVersion(stack: Stack | undefined): Promise<string> {
  if (stack === undefined) return 'not part of this run'
  const client = new pg.Client({ connectionString: stack.databaseUrl })
  await client.connect()
  try {
    const { rows } = await client.query<{ server_version: string }>('SHOW server_version')
    return rows[0]?.server_version ?? 'unknown'
  } finally {
    await client.end()
  }
}
