import { sluice } from '../../../contract/wire/generated/messages.js'
import { newId } from '../../../contract/wire/ids.ts'
import type { Redis } from '../../../contract/wire/redis.ts'
import { ledgerStream, shardOf } from '../../../contract/wire/redisKeys.ts'
import { leafText } from '../../../control/book/receipt/generated/receipt.ts'
import type { Entry } from '../../../control/book/settlement/entry.ts'
import { leafHash } from '../../../control/book/usagelog/merkle.ts'
import { settlementOf } from './ledger.ts'

/** What a proxy process says of one request that has ended; see `endedOf`. */
export interface TestEnding {
  readonly accountId: string
  /** Units, or -1 for one that is not charged. */
  readonly charge: number
  readonly requestId?: string
  readonly split?: string
  readonly settlement?: Partial<sluice.ISettlement>
  /** Absent is now. */
  readonly heldAtMs?: number
}

/** The Ended message of a request that was served from a lease. */
export function endedOf({ accountId, charge, requestId = newId('req'), ...ending }: TestEnding): Buffer {
  const { split, settlement, heldAtMs = Date.now() } = ending
  const status = charge < 0 ? sluice.Status.FAILED : sluice.Status.OK
  const chargeUnits = Math.max(charge, 0)
  const told = settlementOf({ chargeUnits, status, ...settlement, requestId, accountId })
  return Buffer.from(
    sluice.Ended.encode({
      settlement: sluice.Settlement.decode(told),
      voided: charge < 0,
      heldAtMs,
      split: split ?? (charge > 0 ? `coin=${charge}` : ''),
    }).finish(),
  )
}

/** An EndingBatch of endings that are written already, so that some of them may be nonsense. */
export function batchOf(owner: string, from: number, endings: readonly Uint8Array[]): Buffer {
  return Buffer.from(sluice.UnreadEndings.encode({ owner, from, endings: [...endings] }).finish())
}

/** Appends the endings of an account's requests to its ledger stream, as deliver.lua would. @returns the entry's id */
export async function appendEndings(
  redis: Redis,
  accountId: string,
  owner: string,
  from: number,
  endings: readonly Uint8Array[],
): Promise<string> {
  return String(await redis.xadd(ledgerStream(shardOf(accountId)), '*', 'b', batchOf(owner, from, endings)))
}

/** Entries as they were booked when leaves had their first layout. */
export function inFirstLayout(entries: readonly Entry[]): Entry[] {
  return entries.map((entry) => {
    if (entry.kind !== 'ended') return entry
    const receipt = { ...entry.receipt, leafLayout: 1 }
    return { ...entry, receipt: { ...receipt, leafHash: leafHash(leafText(receipt)) } }
  })
}
