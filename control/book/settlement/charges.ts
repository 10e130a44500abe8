import { assertMoney } from '../../../contract/money/moneyFault.ts'
import { textArray } from '../../runtime/db/arrays.ts'
import { locking } from '../../runtime/db/lockOrder.ts'
import type { Client } from '../../runtime/db/pool.ts'
import { HOUSE, isLockId, lockIssuedAccount } from '../ledger/accounts.ts'
import { chargeCredit } from '../ledger/paidCharges.ts'
import type { Transfer } from '../ledger/postTransfers.ts'
import type { BookableEntry, EndedEntry, Entry } from './entry.ts'
import type { Reject } from './rejects.ts'

/** The kind of the transfers of tokens that requests burn. */
export const BURN = 'burn'

export interface Charges {
  /** Those whose receipts may be written. */
  readonly ended: EndedEntry[]
  readonly transfers: Transfer[]
  readonly rejects: Reject[]
  /** Charged or expired beyond the balances of the book: admission had lost writes. The house bears the charges. */
  shortfallUnits: number
  /** Shards with such an account. */
  readonly shortShards: Set<number>
}

/**
 * Turns entries into transfers that the balances cover. An entry of an unknown account or grant is rejected whole.
 * @param balances from lockBalances in the same transaction; charges are subtracted here
 */
export function chargesOf(entries: readonly BookableEntry[], balances: Map<string, number>): Charges {
  const charges: Charges = { ended: [], transfers: [], rejects: [], shortfallUnits: 0, shortShards: new Set() }
  for (const entry of entries) {
    const parts =
      entry.kind === 'ended'
        ? entry.parts
        : [{ ledgerAccount: entry.ledgerAccount, units: entry.units, amount: entry.units }]
    const unknown = parts.find((part) => !balances.has(part.ledgerAccount))
    if (unknown !== undefined) {
      charges.rejects.push({ from: entry, reason: `the ledger has no account ${unknown.ledgerAccount}` })
      continue
    }
    if (entry.kind === 'ended') charges.ended.push(entry)
    const kind = entry.kind === 'ended' ? 'charge' : 'expire'
    const ref = entry.kind === 'ended' ? entry.receipt.requestId : expiryRef(entry.raw)
    const creditOf = (debit: string) =>
      entry.kind === 'ended' ? chargeCredit(debit, entry.raw.shard) : whereExpired(entry.potId)
    const postedFrom = charges.transfers.length
    let short = 0
    if (entry.kind === 'ended') burnTokens(charges, balances, entry)
    for (const part of parts) {
      if ('seriesId' in part) continue
      const { ledgerAccount, units, amount } = part
      const balance = balances.get(ledgerAccount) ?? 0
      assertMoney(balance >= 0, 'balance_not_negative', ledgerAccount, balance, amount)
      const covered = Math.min(amount, balance)
      const coveredUnits = covered === amount ? units : shareOf(units, covered, amount)
      balances.set(ledgerAccount, balance - covered)
      short += units - coveredUnits
      if (covered === 0) continue
      const credit = creditOf(ledgerAccount)
      charges.transfers.push({ kind, ref, debit: ledgerAccount, credit, units: coveredUnits, coinNanos: covered })
    }
    if (short > 0) {
      charges.shortfallUnits += short
      charges.shortShards.add(entry.raw.shard)
      if (entry.kind === 'ended')
        charges.transfers.push({ kind, ref, debit: HOUSE, credit: creditOf(HOUSE), units: short })
    }
    if (entry.kind === 'ended') assertPosted(entry, charges.transfers, postedFrom)
  }
  return charges
}

/** The transfers of an ending, from this place on, move what its receipt says. @throws MoneyFault */
function assertPosted({ receipt }: EndedEntry, transfers: readonly Transfer[], from: number): void {
  const { requestId, chargeUnits, lockUnits } = receipt
  let posted = 0
  for (let i = from; i < transfers.length; i++) posted += transfers[i]?.units ?? 0
  assertMoney(posted === chargeUnits + lockUnits, 'posting_is_charge', requestId, posted, chargeUnits + lockUnits)
}

/** Takes the tokens that a request burns out of a holding for good. The house bears the part that the book no longer has. */
function burnTokens(charges: Charges, balances: Map<string, number>, { receipt, parts, raw }: EndedEntry): void {
  const ref = receipt.requestId
  for (const { ledgerAccount, units, seriesId } of parts) {
    if (seriesId === undefined) continue
    const balance = balances.get(ledgerAccount) ?? 0
    const covered = Math.max(0, Math.min(units, balance))
    balances.set(ledgerAccount, balance - covered)
    const burn = { kind: BURN, ref, units: covered }
    if (covered > 0) charges.transfers.push({ ...burn, debit: ledgerAccount, credit: lockIssuedAccount(seriesId) })
    if (covered === units) continue
    const missing = units - covered
    charges.shortfallUnits += missing
    charges.shortShards.add(raw.shard)
    charges.transfers.push({ kind: BURN, ref, debit: HOUSE, credit: chargeCredit(HOUSE, raw.shard), units: missing })
  }
}

/** Expired credits return to the house, expired tokens to the account of issued ones. */
function whereExpired(potId: string): string {
  return isLockId(potId) ? lockIssuedAccount(potId) : HOUSE
}

/** The units of a part of an amount, rounded down. */
function shareOf(units: number, part: number, whole: number): number {
  return part === 0 ? 0 : Number((BigInt(units) * BigInt(part)) / BigInt(whole))
}

/** The reference of a transfer for an expired grant: the stream entry that reported it. */
export function expiryRef(raw: { shard: number; id: string }): string {
  return `expire:${raw.shard}:${raw.id}`
}

/** Reads the balances of all accounts that entries name, and locks them until the caller's transaction ends. */
export async function lockBalances(client: Client, entries: readonly Entry[]): Promise<Map<string, number>> {
  const ids = new Set<string>()
  for (const entry of entries) {
    if (entry.kind === 'expired') ids.add(entry.ledgerAccount)
    else if (entry.kind === 'ended') for (const part of entry.parts) ids.add(part.ledgerAccount)
  }
  if (ids.size === 0) return new Map()
  locking(client, 'ledgerAccounts', () => [...ids])
  const found = await client.query<{ id: string; balance: number }>({
    name: 'settlement_balances',
    text: 'SELECT id, balance FROM ledger_accounts WHERE id = ANY ($1::text[]) ORDER BY id FOR NO KEY UPDATE',
    values: [textArray([...ids])],
  })
  return new Map(found.rows.map((row) => [row.id, row.balance]))
}
