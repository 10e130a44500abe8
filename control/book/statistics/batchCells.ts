import { DAY_MS } from '../../../contract/api/time.ts'
import { CLIENT_GONE } from '../../../contract/money/receiptStatus.ts'
import type { Receipt } from '../receipt/generated/receipt.ts'
import { BUCKETS, bucketOf } from './buckets.ts'
import { FIGURES, type Figure, type OwnedCell } from './cell.ts'

/** Accounts that a cell of a batch names at most. Naming fewer than there are only makes the cell wait for longer. */
const OWNERS_MAX = 32

/** The counted part of a receipt; columns of `receipts`. */
export type CountedReceipt = Pick<
  Receipt,
  | ('accountId' | 'model' | 'status' | 'errorCode' | 'streamed' | 'rate' | 'chargeUnits' | 'heldAtMs')
  | ('durationMs' | 'firstByteMs')
  | (
      | 'inputTokens'
      | 'cachedInputTokens'
      | 'cacheWrite5mTokens'
      | 'cacheWrite1hTokens'
      | 'outputTokens'
      | 'reasoningTokens'
    )
>

type Sums = { day: number; model: string } & Record<Figure, number>

class Building {
  readonly sums: Sums
  readonly owners = new Set<string>()
  private readonly durations = new Array<number>(BUCKETS).fill(0)
  private readonly firstTokens = new Array<number>(BUCKETS).fill(0)

  constructor(day: number, model: string) {
    this.sums = { day, model, ...(Object.fromEntries(FIGURES.map((name) => [name, 0])) as Record<Figure, number>) }
  }

  /** As FRESH in freshReceipts.ts counts the rows of receipts. */
  add(receipt: CountedReceipt): void {
    const { sums, owners, durations, firstTokens } = this
    const { status, durationMs, firstByteMs } = receipt
    sums.requests++
    if (status === 'ok') sums.ok++
    else if (receipt.errorCode === CLIENT_GONE) sums.ended_by_client++
    else sums.failed++
    sums.units += receipt.chargeUnits
    sums.input_tokens += receipt.inputTokens
    sums.cached_input_tokens += receipt.cachedInputTokens
    sums.cache_write_5m_tokens += receipt.cacheWrite5mTokens
    sums.cache_write_1h_tokens += receipt.cacheWrite1hTokens
    sums.output_tokens += receipt.outputTokens
    sums.reasoning_tokens += receipt.reasoningTokens
    if (status === 'ok' && receipt.rate !== 'batch') count(durations, durationMs)
    if (receipt.streamed && firstByteMs > 0) count(firstTokens, firstByteMs)
    if (owners.size < OWNERS_MAX) owners.add(receipt.accountId)
  }

  get cell(): OwnedCell {
    const { sums, owners, durations, firstTokens } = this
    return { ...sums, durations: trimmed(durations), first_tokens: trimmed(firstTokens), owners: [...owners] }
  }
}

function count(counts: number[], ms: number): void {
  const place = bucketOf(ms)
  counts[place] = (counts[place] ?? 0) + 1
}

/** Adds up receipts by the day of the hold and model. Agents are listed among the owners as separate accounts. */
export function batchCells(receipts: readonly CountedReceipt[]): OwnedCell[] {
  const cells = new Map<string, Building>()
  for (const receipt of receipts) {
    const day = Math.floor(receipt.heldAtMs / DAY_MS)
    const name = `${day} ${receipt.model}`
    let cell = cells.get(name)
    if (cell === undefined) {
      cell = new Building(day, receipt.model)
      cells.set(name, cell)
    }
    cell.add(receipt)
  }
  return Array.from(cells.values(), ({ cell }) => cell)
}

/** Without the zeros at the end. */
function trimmed(counts: readonly number[]): number[] {
  return counts.slice(0, counts.findLastIndex((count) => count > 0) + 1)
}
