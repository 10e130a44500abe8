import { type LockKind, locking } from './lockOrder.ts'
import { type Client, type Pool, withClient } from './pool.ts'

/** Refuses, at compile time, a table in which two names have the same number. */
type Distinct<Numbers extends Record<string, number>> = {
  [Name in keyof Numbers]: Numbers[Name] extends Numbers[Exclude<keyof Numbers, Name>] ? never : Numbers[Name]
}

const distinct = <const Numbers extends Record<string, number>>(numbers: Numbers & Distinct<Numbers>): Numbers =>
  numbers

/**
 * The numbers of all advisory locks that control takes in the database. Control processes of two versions share them,
 * so a number keeps its meaning.
 */
const LOCK_NUMBERS = distinct({
  /** Migrations run one after the other. */
  migration: 7_204_001,
  /** One process writes balances into the admission state. */
  admission: 7_204_002,
  /** Shared by transactions that take a debit, exclusive while shards are loaded. */
  debits: 7_204_003,
  /** Old checkpoints are removed by one process at a time. */
  oldCheckpoints: 7_204_005,
  /** Partitions of receipts are created and archived one after the other; also taken by a function of the database. */
  receiptMonths: 7_204_004,
  /** One process archives a month of receipts. */
  receiptArchive: 7_204_006,
  /** One control exports receipts. */
  exports: 7_204_008,
  /** Receipts are counted for the public statistics and the sums of usage by one process at a time. */
  statistics: 7_204_007,
  chainSweep: 7_204_040,
  refunds: 7_204_041,
  depositScan: 7_204_042,
  withdrawals: 7_204_043,
  /** One control makes settlement batches and sends them. */
  settlementBatches: 7_204_044,
  /** One control shares revenue out. */
  revenuePeriods: 7_204_045,
  /** One control reads the reserve. */
  reserveReadings: 7_204_046,
  /** One control attests the reserve. */
  attestations: 7_204_047,
  /** One control mints withdrawn tokens of compute locks. */
  lockMints: 7_204_048,
  /** One control reads and credits redeemed tokens of compute locks. */
  lockRedemptions: 7_204_049,
  /** One control compares answers of registered providers. */
  providerProbes: 7_204_300,
  /** Price sheets and route switches are published one after the other. */
  publication: 7_301_010,
})

export type LockName = keyof typeof LOCK_NUMBERS

/** How many locks there are, all of which one process may hold. */
export const LOCK_COUNT = Object.keys(LOCK_NUMBERS).length

/**
 * Runs `work` while this process alone has the lock.
 * @returns the result, or undefined when another process has the lock
 */
export function tryLock<T>(pool: Pool, name: LockName, work: () => Promise<T>): Promise<T | undefined> {
  return withClient(pool.locks, async (client, onBroken) => {
    const tried = await client.query<{ locked: boolean }>('SELECT pg_try_advisory_lock($1) AS locked', [
      LOCK_NUMBERS[name],
    ])
    if (tried.rows[0]?.locked !== true) return undefined
    return unlockAfter(client, name, onBroken, work)
  })
}

/** Waits for the lock, then runs `work` while this process alone has it. */
export function withLock<T>(pool: Pool, name: LockName, work: () => Promise<T>): Promise<T> {
  return withClient(pool.locks, async (client, onBroken) => {
    await client.query('SELECT pg_advisory_lock($1)', [LOCK_NUMBERS[name]])
    return unlockAfter(client, name, onBroken, work)
  })
}

async function unlockAfter<T>(
  client: Client,
  name: LockName,
  onBroken: (error: Error) => void,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work()
  } finally {
    // When this fails, the connection is closed, which releases the lock.
    await client.query('SELECT pg_advisory_unlock($1)', [LOCK_NUMBERS[name]]).catch(onBroken)
  }
}

/** Waits for the lock and keeps it until the end of the transaction. */
export async function lockUntilCommit(client: Client, name: LockName & LockKind): Promise<void> {
  locking(client, name)
  await client.query('SELECT pg_advisory_xact_lock($1)', [LOCK_NUMBERS[name]])
}

/** Waits for a lock on a piece of text, such as "referral 192.0.2.0/24", and keeps it until the end of the transaction. */
export async function lockTextUntilCommit(client: Client, kind: LockKind, text: string): Promise<void> {
  locking(client, kind, () => [text])
  await client.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [text])
}

/**
 * Takes the lock in shared mode until the end of the transaction.
 * @returns false when another process holds it exclusively or waits to do so
 */
export async function tryShareUntilCommit(client: Client, name: LockName): Promise<boolean> {
  const tried = await client.query<{ locked: boolean }>('SELECT pg_try_advisory_xact_lock_shared($1) AS locked', [
    LOCK_NUMBERS[name],
  ])
  return tried.rows[0]?.locked === true
}
