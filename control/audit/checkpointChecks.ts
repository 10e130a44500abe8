import { checkpointText, headText, parseCheckpoint } from '../book/checkpoint/checkpointText.ts'
import { keptLeaves } from '../book/checkpoint/headTiles.ts'
import { openNote } from '../book/checkpoint/noteKey.ts'
import { Frontier, type StoredNode } from '../book/usagelog/frontier.ts'
import { HEADS_LOG } from '../book/usagelog/head.ts'
import { leafHash } from '../book/usagelog/merkle.ts'
import { TILE } from '../book/usagelog/tile.ts'
import type { Client } from '../runtime/db/pool.ts'
import type { AuditMark } from './auditMark.ts'
import { type AuditCheck, Faults } from './check.ts'
import type { AuditLimits } from './limits.ts'
import { compareNodes, nodesBetween } from './logNodes.ts'

interface HeadRow {
  readonly position: number
  readonly log: number
  readonly size: number
  readonly root: Buffer
}

interface CheckpointRow {
  readonly size: number
  /** Of the checkpoint before it, 0 for none; null where it was signed before that was kept. */
  readonly size_before: number | null
  readonly note: string
  readonly key: string
}

const PAGE = 'SELECT position, log, size, root FROM log_heads WHERE position >= $1 ORDER BY position LIMIT $2'

/**
 * Recomputes the log of heads: heads only grow, and every checkpoint signs the log as it was.
 * @param mark to continue from
 */
export async function checkCheckpoints(
  client: Client,
  mark: AuditMark | undefined,
  limits: AuditLimits,
): Promise<AuditCheck[]> {
  const log = new HeadsLog(client, mark, await forgottenSize(client))
  for (let next = mark?.logs[HEADS_LOG]?.size ?? 0; ; ) {
    const { rows } = await client.query<HeadRow>(PAGE, [next, limits.auditPageMax])
    const end = (rows.at(-1)?.position ?? next - 1) + 1
    log.notes = await readCheckpoints(client, next, end)
    for (const row of rows) await log.add(row)
    await log.compareNodes()
    next = end
    if (rows.length < limits.auditPageMax) break
  }
  await log.compareEnd()
  return log.checks()
}

/** The log of heads as it is computed, up to some place. */
class HeadsLog {
  /** The checkpoints of the next sizes. */
  notes: ReadonlyMap<number, CheckpointRow> = new Map()
  private readonly client: Client
  private readonly frontier: Frontier
  private readonly sizes: Map<number, number>
  private readonly grow = new Faults()
  private readonly signed = new Faults()
  private readonly nodes = new Faults()
  private completed: StoredNode[] = []
  /** The size up to which nodes were compared. */
  private compared: number
  private checkpoints = 0
  /** The logs that have a head since the last checkpoint; undefined before the first. */
  private unsigned: Set<number> | undefined
  /** The position after the last entry. */
  private next: number
  private readonly first: number
  /** Of the last checkpoint that was met, or that was there before. */
  private signedSize: number

  /** @param forgotten the size up to which checkpoints were removed */
  constructor(client: Client, mark: AuditMark | undefined, forgotten: number) {
    this.client = client
    const { size, peaks } = mark?.logs[HEADS_LOG] ?? { size: 0, peaks: '' }
    this.frontier = new Frontier(size, Buffer.from(peaks, 'hex'))
    this.next = size
    this.first = size
    this.compared = size
    this.signedSize = mark === undefined ? forgotten : size
    this.sizes = new Map(mark?.logs.map(({ signed }, log) => [log, signed]))
  }

  async add({ position, log, size, root }: HeadRow): Promise<void> {
    while (this.next < position) if (!(await this.addKept())) break
    if (position !== this.next) this.grow.add(`position ${this.next} of the log of heads is missing`)
    this.next = position + 1
    if (size <= (this.sizes.get(log) ?? 0)) this.grow.add(`log ${log} went back to ${size} receipts`)
    this.sizes.set(log, size)
    if (this.unsigned?.has(log))
      this.signed.add(`a checkpoint between two heads of log ${log} is missing at ${position}`)
    this.unsigned?.add(log)
    this.append(leafHash(headText(log, { size, root })))
  }

  async compareNodes(): Promise<void> {
    const stored = await nodesBetween(this.client, HEADS_LOG, [this.compared, this.frontier.size])
    compareNodes(HEADS_LOG, this.completed, stored, this.nodes)
    this.completed = []
    this.compared = this.frontier.size
  }

  async compareEnd(): Promise<void> {
    const head = await this.client.query<{ size: number; peaks: Buffer }>(
      'SELECT size, peaks FROM usage_log_heads WHERE log = $1',
      [HEADS_LOG],
    )
    const { size, peaks } = head.rows[0] ?? { size: -1, peaks: Buffer.alloc(0) }
    if (size !== this.frontier.size || !peaks.equals(this.frontier.peaks())) {
      this.grow.add('the head of the log of heads differs from it')
    }
    const last = await this.client.query<{ size: number | null }>('SELECT max(size) AS size FROM checkpoints')
    const signedSize = last.rows[0]?.size ?? 0
    if (signedSize === this.frontier.size) return
    this.signed.add(`the last checkpoint is of ${signedSize} heads, there are ${this.frontier.size}`)
  }

  checks(): AuditCheck[] {
    const checked = `${this.checkpoints} checkpoints of ${this.frontier.size} heads`
    return [
      this.grow.check('heads of the usage logs only grow', checked),
      this.nodes.check('nodes of the log of heads equal its entries', `${this.frontier.size} heads`),
      this.signed.check('checkpoints sign the heads', checked),
    ]
  }

  /** Appends the tile of which only the hashes are kept. @returns whether there is one */
  private async addKept(): Promise<boolean> {
    const passed = this.next % TILE
    if (passed !== 0 && this.next !== this.first) return false
    const leaves = await keptLeaves(this.client, (this.next - passed) / TILE)
    for (const leaf of leaves?.slice(passed) ?? []) this.append(leaf)
    if (leaves !== undefined) this.next += TILE - passed
    return leaves !== undefined
  }

  private append(leaf: Buffer): void {
    this.completed.push(...this.frontier.append(leaf))
    const row = this.notes.get(this.frontier.size)
    if (row === undefined) return
    this.checkpoints++
    this.unsigned = new Set()
    if (row.size_before !== null && row.size_before !== this.signedSize)
      this.signed.add(`the checkpoint of ${row.size_before} heads before that of ${row.size} is missing`)
    this.signedSize = row.size
    checkNote(row, this.frontier, this.signed)
  }
}

/** Those of sizes above `from`, up to `upTo`, by their sizes. */
async function readCheckpoints(client: Client, from: number, upTo: number): Promise<Map<number, CheckpointRow>> {
  const found = await client.query<CheckpointRow>(
    'SELECT size, size_before, note, key FROM checkpoints WHERE size > $1 AND size <= $2',
    [from, upTo],
  )
  return new Map(found.rows.map((row) => [row.size, row]))
}

async function forgottenSize(client: Client): Promise<number> {
  const { rows } = await client.query<{ size: number }>('SELECT size FROM checkpoints_forgotten')
  return rows[0]?.size ?? 0
}

function checkNote({ size, note, key }: CheckpointRow, frontier: Frontier, faults: Faults): void {
  const text = openNote(note, key)
  const origin = key.split('+')[0] ?? ''
  if (text === undefined || parseCheckpoint(text, origin) === undefined) {
    faults.add(`the checkpoint of ${size} heads is not signed with its key`)
  } else if (text !== checkpointText(origin, { size, root: frontier.root() })) {
    faults.add(`the checkpoint of ${size} heads signs something else`)
  }
}
