import { MoneyFault } from '../../../contract/money/moneyFault.ts'
import type { Pool } from '../../runtime/db/pool.ts'
import { addMonthsOf, isMonthMissing } from '../partitions/addMonths.ts'
import { type Booked, bookEntries } from './bookEntries.ts'
import type { Entry } from './entry.ts'

/** Constraints that break when the book itself is inconsistent; no entry is to blame, so none is rejected for it. */
const BOOK_CONSTRAINT = /^(receipts_\w+_place_key|usage_log_nodes_pkey)$/
/** Of a month of receipts. Breaks when a request has ended in another way before, or in a batch of another shard that is booked at the same time. */
const REQUEST_CONSTRAINT = /^receipts_\w+_pkey$/

/**
 * Whether an error comes from the content of a batch, so that a retry cannot help: SQLSTATE classes 22 (data exception) and 23
 * (integrity constraint violation), https://www.postgresql.org/docs/current/errcodes-appendix.html, JavaScript's own
 * complaints about values, and broken rules of the money path.
 */
export function isCausedByContent(error: unknown): boolean {
  if (error instanceof TypeError || error instanceof RangeError || error instanceof MoneyFault) return true
  const { code, constraint } = error as { code?: unknown; constraint?: unknown }
  if (typeof code !== 'string' || !/^2[23][0-9A-Z]{3}$/.test(code)) return false
  return typeof constraint !== 'string' || !BOOK_CONSTRAINT.test(constraint)
}

function requestIdsOf(entries: readonly Entry[]): string[] {
  return entries.flatMap((entry) => (entry.kind === 'ended' ? [entry.receipt.requestId] : []))
}

function add(total: Booked, part: Booked): void {
  total.receipts += part.receipts
  total.duplicates += part.duplicates
  total.shortfallUnits += part.shortfallUnits
  total.rejects.push(...part.rejects)
  total.dirtyShards.push(...part.dirtyShards)
  total.gaps.push(...part.gaps)
  total.spending.push(...part.spending)
}

/**
 * Books a batch. Where the database refuses it for its content, bisects it until the entry at fault is isolated, and rejects
 * that one.
 * @throws every other error of the database; the part that failed can be repeated
 */
export async function bookBatch(pool: Pool, entries: readonly Entry[]): Promise<Booked> {
  try {
    return await bookEntries(pool, entries)
  } catch (error) {
    const [first] = entries
    if (!isCausedByContent(error) || first === undefined) throw error
    if (REQUEST_CONSTRAINT.test(String((error as { constraint?: unknown }).constraint)))
      return bookEntries(pool, entries, 'all')
    if (isMonthMissing(error) && (await addMonthsOf(pool, requestIdsOf(entries))) > 0) return bookBatch(pool, entries)
    if (entries.length === 1) {
      if (first.kind === 'malformed') throw error
      const { raw, delivered } = first
      return bookEntries(pool, [{ kind: 'malformed', raw, delivered, reason: (error as Error).message }])
    }
    const half = entries.length >> 1
    const booked = await bookBatch(pool, entries.slice(0, half))
    add(booked, await bookBatch(pool, entries.slice(half)))
    return booked
  }
}
