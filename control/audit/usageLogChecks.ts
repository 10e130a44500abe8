import { Frontier, type StoredNode } from '../book/usagelog/frontier.ts'
import { type LoggedReceipt, leafText } from '../book/usagelog/leafText.ts'
import { leafHash } from '../book/usagelog/merkle.ts'
import type { Limits } from '../limits.ts'
import type { Client } from '../runtime/db/pool.ts'
import { type AuditCheck, Faults } from './check.ts'

interface LogRow extends LoggedReceipt {
  readonly position: number
  readonly leaf: Buffer
}

const PAGE = `
  SELECT position, request_id AS "requestId", status, model, endpoint, sheet_version AS "sheetVersion",
    charge_units AS "chargeUnits", input_tokens AS "inputTokens", cached_input_tokens AS "cachedInputTokens",
    cache_write_5m_tokens AS "cacheWrite5mTokens", cache_write_1h_tokens AS "cacheWrite1hTokens",
    output_tokens AS "outputTokens", reasoning_tokens AS "reasoningTokens", quantity, unit, usage_source AS "usageSource",
    held_at_ms AS "heldAtMs", leaf_hash AS leaf
  FROM receipts WHERE position >= $1 ORDER BY position LIMIT $2`

/** Computes the whole usage log again from the receipts and compares leaves, stored nodes and head. */
export async function checkUsageLog(client: Client, limits: Limits): Promise<AuditCheck[]> {
  const positions = new Faults()
  const leaves = new Faults()
  const nodes = new Faults()
  const head = new Faults()
  const frontier = new Frontier(0, Buffer.alloc(0))
  for (let next = 0; ; ) {
    const page = await client.query<LogRow>(PAGE, [next, limits.auditPageMax])
    const completed: StoredNode[] = []
    for (const row of page.rows) {
      if (row.position !== next) positions.add(`position ${next} is missing`)
      next = row.position + 1
      const leaf = leafHash(leafText(row))
      if (!leaf.equals(row.leaf)) leaves.add(`${row.requestId} at ${row.position}`)
      completed.push(...frontier.append(leaf))
    }
    await compareNodes(client, completed, nodes)
    if (page.rows.length < limits.auditPageMax) break
  }
  await compareHead(client, frontier, head)
  const size = `${frontier.size} receipts`
  return [
    positions.check('usage log positions have no gap', size),
    leaves.check('usage log leaves equal their receipts', size),
    nodes.check('usage log nodes equal their leaves', size),
    head.check('usage log head equals the log', `root ${frontier.root().toString('hex')} of ${size}`),
  ]
}

async function compareNodes(client: Client, completed: readonly StoredNode[], faults: Faults): Promise<void> {
  for (const { level, index, hash } of completed) {
    const found = await client.query<{ hash: Buffer }>(
      'SELECT hash FROM usage_log_nodes WHERE level = $1 AND index = $2',
      [level, index],
    )
    if (found.rows[0]?.hash.equals(hash) !== true) faults.add(`node ${index} of level ${level}`)
  }
}

async function compareHead(client: Client, frontier: Frontier, faults: Faults): Promise<void> {
  const found = await client.query<{ size: number; peaks: Buffer }>('SELECT size, peaks FROM usage_log_head')
  const head = found.rows[0]
  if (head?.size !== frontier.size) faults.add(`the head counts ${head?.size} receipts, the log has ${frontier.size}`)
  else if (!head.peaks.equals(frontier.peaks())) faults.add('the head has another root')
  const beyond = await client.query<{ count: number }>(
    `SELECT count(*) FROM usage_log_nodes WHERE (index + 1) * (2::bigint ^ level) > $1`,
    [frontier.size],
  )
  if (beyond.rows[0]?.count !== 0) faults.add(`${beyond.rows[0]?.count} nodes lie beyond the log`)
}
