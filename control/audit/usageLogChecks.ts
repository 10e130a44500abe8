import { Frontier, type StoredNode } from '../book/usagelog/frontier.ts'
import { LOG_COUNT } from '../book/usagelog/head.ts'
import type { Client } from '../runtime/db/pool.ts'
import type { AuditMark } from './auditMark.ts'
import { type AuditCheck, Faults } from './check.ts'
import type { AuditLimits } from './limits.ts'
import { type LeafPage, readLeaves } from './logLeaves.ts'
import { compareNodes, nodesBetween } from './logNodes.ts'
import type { Progress } from './progress.ts'
import { quietLogs } from './quietLogs.ts'

interface LogFaults {
  readonly positions: Faults
  readonly leaves: Faults
  readonly nodes: Faults
  readonly heads: Faults
  readonly signed: Faults
}

/**
 * Recomputes all usage logs from the receipts and compares leaves, stored nodes and heads.
 * @param mark to continue from; its frontier of a log is part of the computed head
 */
export async function checkUsageLogs(
  client: Client,
  mark: AuditMark | undefined,
  progress: Progress,
  limits: AuditLimits,
): Promise<AuditCheck[]> {
  const faults = {
    positions: new Faults(),
    leaves: new Faults(),
    nodes: new Faults(),
    heads: new Faults(),
    signed: new Faults(),
  }
  let [receipts, signed, before] = [0, 0, 0]
  const frontiers = Array.from({ length: LOG_COUNT }, (_, log) => {
    const marked = mark?.logs[log]
    return new Frontier(marked?.size ?? 0, Buffer.from(marked?.peaks ?? '', 'hex'))
  })
  const quiet = await quietLogs(client, frontiers, limits)
  for (const [log, frontier] of frontiers.entries()) {
    before += frontier.size
    if (!quiet.has(log)) {
      signed += await rebuild({ client, log, frontier, faults, progress, limits })
      await compareHead(client, log, frontier, faults.heads)
    }
    receipts += frontier.size
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

interface Rebuilding {
  readonly client: Client
  readonly log: number
  /** Initially that of the mark. */
  readonly frontier: Frontier
  readonly faults: LogFaults
  readonly progress: Progress
  readonly limits: AuditLimits
}

/** @returns how many of the log's heads were signed */
async function rebuild({ client, log, frontier, faults, progress, limits }: Rebuilding): Promise<number> {
  const { size: start } = frontier
  const first = await signedHeads(client, log, [start - 1, start])
  compareSigned(log, frontier, first, faults)
  let [signed, next] = [first.size, start]
  for (let page = await readLeaves(client, log, next, limits); page !== undefined; ) {
    const grown: [number, number] = [frontier.size, frontier.size + page.leaves.length]
    const [heads, nodes] = await Promise.all([signedHeads(client, log, grown), nodesBetween(client, log, grown)])
    const following = readLeaves(client, log, page.until, limits)
    // A rejection is thrown where the promise is awaited.
    following.catch(() => {})
    compareNodes(log, append({ log, frontier, faults }, page, next, heads), nodes, faults.nodes)
    next = (page.leaves.at(-1)?.position ?? next) + 1
    signed += heads.size
    progress.add(page.leaves.length)
    page = await following
  }
  const { rows: beyond } = await client.query<{ size: number }>(
    'SELECT size FROM log_heads WHERE log = $1 AND size > $2 ORDER BY size LIMIT $3',
    [log, frontier.size, limits.auditPageMax],
  )
  for (const { size } of beyond) faults.signed.add(`log ${log} was signed with ${size} receipts`)
  return signed
}

/** Roots by their sizes, of the heads of a log that were signed, above one size up to another. */
async function signedHeads(
  client: Client,
  log: number,
  [above, upTo]: readonly [number, number],
): Promise<ReadonlyMap<number, Buffer>> {
  const found = await client.query<{ size: number; root: Buffer }>(
    'SELECT size, root FROM log_heads WHERE log = $1 AND size > $2 AND size <= $3',
    [log, above, upTo],
  )
  return new Map(found.rows.map(({ size, root }) => [size, root]))
}

/**
 * Appends the leaves of a page.
 * @param next the position that its first leaf should have
 * @param heads the signed heads of these sizes
 * @returns the nodes that the page completes
 */
function append(
  { log, frontier, faults }: Pick<Rebuilding, 'log' | 'frontier' | 'faults'>,
  { leaves, others }: LeafPage,
  next: number,
  heads: ReadonlyMap<number, Buffer>,
): StoredNode[] {
  const completed: StoredNode[] = []
  let expected = next
  for (const { position, leaf } of leaves) {
    if (position !== expected) faults.positions.add(`position ${expected} of log ${log} is missing`)
    expected = position + 1
    completed.push(...frontier.append(leaf))
    compareSigned(log, frontier, heads, faults)
  }
  for (const other of others) faults.leaves.add(`${other} of log ${log}`)
  return completed
}

function compareSigned(
  log: number,
  frontier: Frontier,
  heads: ReadonlyMap<number, Buffer>,
  { signed }: LogFaults,
): void {
  const root = heads.get(frontier.size)
  if (root === undefined || root.equals(frontier.root())) return
  signed.add(`log ${log} was signed with another root at ${frontier.size} receipts`)
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
