import { Frontier, type StoredNode } from '../book/usagelog/frontier.ts'
import { LOG_COUNT } from '../book/usagelog/head.ts'
import { type LoggedReceipt, leafText } from '../book/usagelog/leafText.ts'
import { leafHash } from '../book/usagelog/merkle.ts'
import type { Limits } from '../limits.ts'
import type { Client } from '../runtime/db/pool.ts'
import { type ArchivedLeaf, archivedLeaves } from './archivedLeaves.ts'
import type { AuditMark } from './auditMark.ts'
import { type AuditCheck, Faults } from './check.ts'
import { compareNodes } from './logNodes.ts'
import type { Progress } from './progress.ts'

interface LogRow extends LoggedReceipt {
  readonly position: number
  readonly leaf: Buffer
}

const PAGE = `
  SELECT position, request_id AS "requestId", status, model, endpoint, sheet_version AS "sheetVersion",
    charge_units AS "chargeUnits", input_tokens AS "inputTokens", cached_input_tokens AS "cachedInputTokens",
    cache_write_5m_tokens AS "cacheWrite5mTokens", cache_write_1h_tokens AS "cacheWrite1hTokens",
    output_tokens AS "outputTokens", reasoning_tokens AS "reasoningTokens", quantity, unit, usage_source AS "usageSource",
    held_at_ms AS "heldAtMs", rate, tier, size, hold_units AS "holdUnits", clamped, streamed, duration_ms AS "durationMs",
    error_code AS "errorCode", leaf_layout AS "leafLayout", leaf_hash AS leaf
  FROM receipts WHERE log = $1 AND position >= $2 ORDER BY position LIMIT $3`

/** A head that a checkpoint has signed. */
interface SignedHead {
  readonly size: number
  readonly root: Buffer
}

interface LogFaults {
  readonly positions: Faults
  readonly leaves: Faults
  readonly nodes: Faults
  readonly heads: Faults
  readonly signed: Faults
}

/**
 * Computes all usage logs again from the receipts and compares leaves, stored nodes and heads.
 * @param mark to go on from; what it says of a log is part of the head that has to come out
 */
export async function checkUsageLogs(
  client: Client,
  mark: AuditMark | undefined,
  progress: Progress,
  limits: Limits,
): Promise<AuditCheck[]> {
  const faults = {
    positions: new Faults(),
    leaves: new Faults(),
    nodes: new Faults(),
    heads: new Faults(),
    signed: new Faults(),
  }
  let [receipts, signed, before] = [0, 0, 0]
  for (let log = 0; log < LOG_COUNT; log++) {
    const marked = mark?.logs[log]
    const frontier = new Frontier(marked?.size ?? 0, Buffer.from(marked?.peaks ?? '', 'hex'))
    const heads = new SignedHeads(client, log, frontier.size, limits)
    await rebuild(client, log, frontier, heads, faults, progress, limits)
    for (const { size } of await heads.rest()) faults.signed.add(`log ${log} was signed with ${size} receipts`)
    signed += heads.count
    await compareHead(client, log, frontier, faults.heads)
    receipts += frontier.size
    before += marked?.size ?? 0
  }
  const size = mark === undefined ? `${receipts} receipts` : `${receipts - before} new receipts of ${receipts}`
  return [
    faults.positions.check('usage log positions have no gap', size),
    faults.leaves.check('usage log leaves equal their receipts', size),
    faults.nodes.check('usage log nodes equal their leaves', size),
    faults.heads.check('usage log heads equal the logs', `${LOG_COUNT} logs of ${size}`),
    faults.signed.check('usage logs contain every head that was signed', `${signed} heads`),
  ]
}

/** The signed heads of a log, in the order of their sizes, page by page. */
class SignedHeads {
  count = 0
  private readonly client: Client
  private readonly log: number
  private readonly limits: Limits
  private page: SignedHead[] = []
  private lastSize: number
  private isRead = false

  /** @param from leaves out the heads of fewer receipts */
  constructor(client: Client, log: number, from: number, limits: Limits) {
    this.client = client
    this.log = log
    this.lastSize = from - 1
    this.limits = limits
  }

  /** The next head, where it has this size. */
  async take(size: number): Promise<SignedHead | undefined> {
    if (this.page.length === 0) await this.read()
    if (this.page[0]?.size !== size) return undefined
    this.count++
    return this.page.shift()
  }

  /** Some of those that were not taken, if there are any. */
  async rest(): Promise<readonly SignedHead[]> {
    if (this.page.length === 0) await this.read()
    return this.page
  }

  private async read(): Promise<void> {
    if (this.isRead) return
    const found = await this.client.query<SignedHead>(
      'SELECT size, root FROM log_heads WHERE log = $1 AND size > $2 ORDER BY size LIMIT $3',
      [this.log, this.lastSize, this.limits.auditPageMax],
    )
    this.page = found.rows
    this.lastSize = found.rows.at(-1)?.size ?? this.lastSize
    this.isRead = found.rows.length < this.limits.auditPageMax
  }
}

async function rebuild(
  client: Client,
  log: number,
  frontier: Frontier,
  heads: SignedHeads,
  faults: LogFaults,
  progress: Progress,
  limits: Limits,
): Promise<void> {
  await compareSigned(log, frontier, heads, faults)
  for (let next = frontier.size; ; ) {
    const { rows, isLast } = await nextRows(client, log, next, limits)
    const completed: StoredNode[] = []
    for (const row of rows) {
      if (row.position !== next) faults.positions.add(`position ${next} of log ${log} is missing`)
      next = row.position + 1
      const leaf = 'requestId' in row ? leafHash(leafText(row)) : row.leaf
      if ('requestId' in row && !leaf.equals(row.leaf))
        faults.leaves.add(`${row.requestId} at ${row.position} of log ${log}`)
      completed.push(...frontier.append(leaf))
      await compareSigned(log, frontier, heads, faults)
    }
    await compareNodes(client, log, completed, faults.nodes)
    progress.add(rows.length)
    if (isLast) return
  }
}

async function compareSigned(log: number, frontier: Frontier, heads: SignedHeads, faults: LogFaults): Promise<void> {
  const signed = await heads.take(frontier.size)
  if (signed === undefined || signed.root.equals(frontier.root())) return
  faults.signed.add(`log ${log} was signed with another root at ${frontier.size} receipts`)
}

/** What a log has from a position on: receipts, or the leaves that were kept of them. */
async function nextRows(
  client: Client,
  log: number,
  from: number,
  limits: Limits,
): Promise<{ rows: (LogRow | ArchivedLeaf)[]; isLast: boolean }> {
  const { rows } = await client.query<LogRow>(PAGE, [log, from, limits.auditPageMax])
  const isFull = rows.length === limits.auditPageMax
  const end = isFull ? (rows.at(-1)?.position ?? 0) : Number.MAX_SAFE_INTEGER
  const archived = await archivedLeaves(client, log, from, end)
  const known = new Set(rows.map(({ position }) => position))
  // A month that was not taken out to the end has leaves here, too.
  const kept = archived.leaves.filter(({ position }) => !known.has(position))
  const all = [...rows, ...kept].sort((a, b) => a.position - b.position)
  return { rows: all.filter(({ position }) => position <= archived.upTo), isLast: !isFull && archived.upTo === end }
}

async function compareHead(client: Client, log: number, frontier: Frontier, faults: Faults): Promise<void> {
  const found = await client.query<{ size: number; peaks: Buffer }>(
    'SELECT size, peaks FROM usage_log_heads WHERE log = $1',
    [log],
  )
  const head = found.rows[0]
  if (head?.size !== frontier.size) {
    faults.add(`the head of log ${log} counts ${head?.size} receipts, the log has ${frontier.size}`)
  } else if (!head.peaks.equals(frontier.peaks())) faults.add(`the head of log ${log} has another root`)
  const beyond = await client.query<{ count: number }>(
    `SELECT count(*) FROM usage_log_nodes WHERE log = $1 AND (index + 1) * (2::bigint ^ level) > $2`,
    [log, frontier.size],
  )
  if (beyond.rows[0]?.count !== 0) faults.add(`${beyond.rows[0]?.count} nodes lie beyond log ${log}`)
}
