import { invalidRequest } from '../../../contract/errors/errors.ts'
import { MAX_UNITS } from '../../../contract/money/units.ts'
import { textArray } from '../../runtime/db/arrays.ts'
import type { Client, Queryable } from '../../runtime/db/pool.ts'
import { coinAccount } from './accounts.ts'

/** How much coin accounts can be credited in addition to what they have; nanos, less with everything that is taken of it. */
export class CoinRoom {
  private readonly left = new Map<string, number>()

  /** Reads the balances of accounts that are not known yet; unknown accounts have no room. */
  async read(db: Queryable, accountIds: readonly string[]): Promise<void> {
    const unread = [...new Set(accountIds)].filter((accountId) => !this.left.has(accountId))
    if (unread.length === 0) return
    const found = await db.query<{ id: string; balance: number }>(
      'SELECT id, balance FROM ledger_accounts WHERE id = ANY ($1::text[])',
      [textArray(unread.map(coinAccount))],
    )
    const balances = new Map(found.rows.map(({ id, balance }) => [id, balance]))
    for (const accountId of unread) {
      this.left.set(accountId, MAX_UNITS - (balances.get(coinAccount(accountId)) ?? MAX_UNITS))
    }
  }

  /** Whether an account can hold an amount in addition to what it has and what was taken. */
  fits(accountId: string, nanos: bigint): boolean {
    return nanos <= BigInt(this.left.get(accountId) ?? 0)
  }

  /** Takes an amount, or the part of it that fits. @returns that part */
  take(accountId: string, nanos: number): number {
    const left = this.left.get(accountId) ?? 0
    const taken = Math.min(left, nanos)
    this.left.set(accountId, left - taken)
    return taken
  }
}

/** Whether an account can hold this coin, integer of nanos, in addition to what it has. */
export async function hasRoom(db: Queryable, accountId: string, nanos: number): Promise<boolean> {
  const room = new CoinRoom()
  await room.read(db, [accountId])
  return room.fits(accountId, BigInt(nanos))
}

/**
 * @param accountId locked, so that its balance stays
 * @throws GatewayError invalid_request where it cannot hold this coin, integer of nanos, in addition to what it has
 */
export async function requireRoom(client: Client, accountId: string, nanos: number): Promise<void> {
  if (await hasRoom(client, accountId, nanos)) return
  throw invalidRequest(
    'The account that gets this coin cannot hold it in addition to what it has; spend some of that first, or use another account.',
  )
}
