import { LOCK_ORDER, type LockKind } from '../../control/runtime/db/lockOrder.ts'

/** A place in the order of all locks: that of its kind, and among those of the kind its id. */
interface Place {
  readonly kind: LockKind
  readonly id: string
}

/** Ledger accounts that are locked after all others; see docs/architecture/ledger.md. */
const PROCEEDS = /^(?:lock_unearned:.*|revenue|rewards|vault)$/

const rankOf = ({ kind }: Place): number => LOCK_ORDER.indexOf(kind)

/** Below zero where one is locked before the other. */
function compare(one: Place, other: Place): number {
  if (one.kind !== other.kind) return rankOf(one) - rankOf(other)
  return one.id < other.id ? -1 : one.id > other.id ? 1 : 0
}

function placeOf(kind: LockKind, id: string): Place {
  return kind === 'ledgerAccounts' && PROCEEDS.test(id) ? { kind: 'proceeds', id } : { kind, id }
}

/** The locks that one transaction has taken. */
export class TransactionLocks {
  private readonly held: Place[] = []
  private readonly made: Place[] = []

  /**
   * Adds the locks that one statement takes, in the order of their ids.
   * @returns what is wrong, or undefined
   */
  take(kind: LockKind, ids: readonly string[]): string | undefined {
    const asked = [...new Set(ids)].sort().map((id) => placeOf(kind, id))
    const own = [...this.held, ...this.made]
    const fresh = asked.filter((place) => !own.some((one) => compare(one, place) === 0))
    for (const place of fresh) {
      const before = this.held.find((one) => compare(one, place) > 0)
      if (before !== undefined) return `${nameOf(place)} is locked after ${nameOf(before)}`
      this.held.push(place)
    }
    return undefined
  }

  /** Adds rows that the transaction itself has made, which have no order. */
  make(kind: LockKind, ids: readonly string[]): void {
    this.made.push(...ids.map((id) => placeOf(kind, id)))
  }
}

function nameOf({ kind, id }: Place): string {
  return id === '' ? kind : `${kind} ${id}`
}
