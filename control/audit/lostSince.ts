import { headLeaves } from '../book/checkpoint/headTiles.ts'
import { hasCharges } from '../book/ledger/accounts.ts'
import { HEADS_LOG } from '../book/usagelog/head.ts'
import { rootAt } from '../book/usagelog/inclusionProof.ts'
import { leavesOf } from '../book/usagelog/leafReads.ts'
import type { Queryable } from '../runtime/db/pool.ts'
import { type BookMark, type MarkedLog, type WideAmount, wideAmount } from './bookMark.ts'

/** The entries that a restored book has lost. */
export interface Lost {
  /** By usage log, where any are. */
  readonly receipts: readonly { readonly log: number; readonly receipts: number }[]
  readonly receiptsTotal: number
  /** Whether entries were added after the restore. The amounts that the lost ones moved are then no longer known. */
  readonly movedOn: boolean
  /** The total charge of these receipts; null when the book has moved on. */
  readonly chargedUnits: WideAmount | null
  /** By other account of the gateway, the amount by which its balance was higher before; none when the book has moved on. Units, of coin nanos. */
  readonly balances: Readonly<Record<string, WideAmount>>
  /** Endings of proxies that are no longer booked; proxies redeliver those that their journals still have. */
  readonly endings: Readonly<Record<string, number>>
  /** Signed heads that are lost: new checkpoints contradict those that were already published. */
  readonly signedHeads: number
  /** Logs whose entries differ from the earlier ones. */
  readonly forked: readonly number[]
}

/**
 * Compares a book with a mark of it from before it was restored.
 * @param now a mark of the book as it is
 */
export async function lostSince(db: Queryable, then: BookMark, now: BookMark): Promise<Lost> {
  const sizes = new Map(now.logs.map(({ log, size }) => [log, size]))
  const missing = then.logs.map(({ log, size }) => ({ log, receipts: size - (sizes.get(log) ?? 0) }))
  const receipts = missing.filter((lost) => lost.log !== HEADS_LOG && lost.receipts > 0)
  const forked: number[] = []
  for (const marked of then.logs) {
    if (marked.size <= (sizes.get(marked.log) ?? 0) && !(await isAsMarked(db, marked))) forked.push(marked.log)
  }
  const endings = differences(then.endings, now.endings)
  const movedOn =
    forked.length > 0 || missing.some((lost) => lost.receipts < 0) || endings.some(([, more]) => more < 0n)
  const accounts = movedOn ? [] : differences(then.balances, now.balances)
  const charged = accounts.filter(([id]) => hasCharges(id)).reduce((sum, [, units]) => sum + units, 0n)
  return {
    receipts,
    receiptsTotal: receipts.reduce((sum, lost) => sum + lost.receipts, 0),
    movedOn,
    chargedUnits: movedOn ? null : wideAmount(charged),
    balances: Object.fromEntries(
      accounts.filter(([id]) => !hasCharges(id)).map(([id, amount]) => [id, wideAmount(amount)]),
    ),
    endings: Object.fromEntries(
      endings.filter(([, count]) => count > 0n).map(([owner, count]) => [owner, Number(count)]),
    ),
    signedHeads: Math.max(0, missing.find(({ log }) => log === HEADS_LOG)?.receipts ?? 0),
    forked,
  }
}

/** Whether a log began as it was then. */
async function isAsMarked(db: Queryable, { log, size, root }: MarkedLog): Promise<boolean> {
  const leaves = log === HEADS_LOG ? headLeaves : leavesOf(log)
  return (await rootAt(db, log, size, leaves)).toString('hex') === root
}

/** By how much values were greater, where they were others. */
function differences(
  then: Readonly<Record<string, WideAmount>>,
  now: Readonly<Record<string, WideAmount>>,
): Array<readonly [name: string, difference: bigint]> {
  return Object.entries(then)
    .map(([name, value]) => [name, BigInt(value) - BigInt(now[name] ?? 0)] as const)
    .filter(([, difference]) => difference !== 0n)
}
