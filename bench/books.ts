import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { bringForward } from './background.ts'
import type { Books } from './results.ts'
import type { Stack } from './targets/stack.ts'

const DELIVERED_MS = 30_000
const POLL_MS = 100

/**
 * Waits until every request has its receipt in the book, then audits it.
 * @param requests sent to the metered gateway since its start
 * @throws Error when receipts are missing or too many, or the audit finds something
 */
export async function checkBooks(stack: Stack, title: string, requests: number): Promise<Books> {
  // A load has kept booking back to the time that others leave idle, which is none on a busy machine.
  bringForward(stack.backgroundPids())
  const receipts = await receiptsOf(stack, requests)
  if (receipts !== requests) throw new Error(`${requests} requests were served, the book has ${receipts} receipts`)
  const audit = await stack.cli(['audit'])
  if (audit.status !== 0) throw new Error(`the audit found something:\n${audit.output}`)
  return { title, requests, receipts, auditClean: true, auditOutput: audit.output.trim() }
}

/** The receipts in the book, once it has as many as requests: a proxy delivers endings a little after their answers. */
async function receiptsOf(stack: Stack, requests: number): Promise<number> {
  for (const untilMs = performance.now() + DELIVERED_MS; ; await sleep(POLL_MS)) {
    await stack.booked()
    const receipts = Number(await readOne(stack.databaseUrl, 'SELECT count(*) FROM receipts'))
    if (receipts >= requests || performance.now() > untilMs) return receipts
  }
}

/** The version of the PostgreSQL under the stack. */
export async function postgresVersion(stack: Stack | undefined): Promise<string> {
  return stack === undefined ? 'not part of this run' : readOne(stack.databaseUrl, 'SHOW server_version')
}

async function readOne(databaseUrl: string, query: string): Promise<string> {
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  try {
    const { rows } = await client.query({ text: query, rowMode: 'array' })
    return String((rows as unknown[][])[0]?.[0])
  } finally {
    await client.end()
  }
}
