import { potAccount } from '../book/ledger/accounts.ts'
import type { DebitRecord } from './debitRecord.ts'
import type { HoldRecord } from './holdRecord.ts'
import { addSpending, countIn, type KeySpending, noSpending } from './keySpending.ts'
import { type LeaseRecord, outOf, unitsOf } from './leaseRecord.ts'
import type { Windows } from './windows.ts'

/** The amounts that open holds, leases and debits reserve, by account, pot and key. */
export class HeldParts {
  readonly coinNanos = new Map<string, number>()
  /** By the ledger account of a pot: a grant, or a holding. */
  readonly potUnits = new Map<string, number>()
  /** By account: the amount that is out in leases, nanos of coin and units of grants together. */
  readonly out = new Map<string, number>()
  /** By key: units of holds and leases. */
  readonly keyUnits = new Map<string, KeySpending>()
  private readonly windows: Windows

  constructor(windows: Windows) {
    this.windows = windows
  }

  add(hold: HoldRecord): void {
    increase(this.coinNanos, hold.accountId, hold.coinNanos)
    for (const { grantId, units } of hold.grants) increase(this.potUnits, potAccount(grantId, hold.accountId), units)
    this.spend(hold, hold.holdUnits)
  }

  addLease(lease: LeaseRecord): void {
    increase(this.coinNanos, lease.accountId, lease.coinNanos)
    for (const { grantId, units } of lease.grants) increase(this.potUnits, potAccount(grantId, lease.accountId), units)
    increase(this.out, lease.accountId, outOf(lease))
    this.spend(lease, unitsOf(lease))
  }

  /** @param isBooked whether the charges by key, which are read from the book, already include it */
  addDebit(debit: DebitRecord, isBooked: boolean): void {
    const { accountId, nanos, tokens } = debit
    increase(this.coinNanos, accountId, nanos)
    if (tokens !== undefined) increase(this.potUnits, potAccount(tokens.seriesId, accountId), tokens.units)
    if (debit.keyId !== '' && !isBooked) this.spend(debit, debit.units)
  }

  /** Adds charges that the book keeps apart from a key's own: those of its sub-keys. */
  addSpending(keyId: string, spending: KeySpending): void {
    addSpending(this.keyOf(keyId), spending)
  }

  private keyOf(keyId: string): KeySpending {
    const key = this.keyUnits.get(keyId) ?? noSpending()
    this.keyUnits.set(keyId, key)
    return key
  }

  private spend(from: HoldRecord | LeaseRecord | DebitRecord, units: number): void {
    countIn(this.keyOf(from.keyId), from.hour, units, this.windows)
    if (from.platformKeyId !== '') countIn(this.keyOf(from.platformKeyId), from.hour, units, this.windows)
  }
}

export function increase(sums: Map<string, number>, name: string, units: number): void {
  sums.set(name, (sums.get(name) ?? 0) + units)
}
