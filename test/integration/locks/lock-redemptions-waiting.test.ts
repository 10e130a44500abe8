// Goal: redemptions that wait for their wallet to be linked delay those of no other wallet.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { after, before, test } from 'node:test'
import { waitingRedemptions } from '../../../control/products/locks/tokens/redemptionRow.ts'
import { migrate } from '../../../control/runtime/db/migrate.ts'
import { createPool, type Pool } from '../../../control/runtime/db/pool.ts'
import { limits } from '../../support/limits.ts'
import { freshDatabase } from '../../support/services.ts'

const BATCH = limits.lockRedemptionBatchMax
const MANY = 2_000
const hashOf = (text: string): string => `0x${createHash('sha256').update(text).digest('hex')}`
const walletOf = (text: string): string => hashOf(text).slice(0, 42)
const flooding = walletOf('flooding')

let pool: Pool
before(async () => {
  pool = createPool(await freshDatabase(), limits)
  await migrate(pool)
})
after(() => pool.end())

async function redeem(wallet: string, count: number): Promise<void> {
  const ids = Array.from({ length: count }, (_, i) => `${hashOf(`${wallet} ${i}`)}:0`)
  await pool.query(
    `INSERT INTO lock_redemptions (id, hash, block_number, contract, series_id, wallet, note, micros, state)
     SELECT id, id, 1, 'c', 's', $2, '', 1, 'waiting' FROM unnest($1::text[]) AS id`,
    [ids, wallet],
  )
}

/** The wallets of the redemptions of so many passes, as the scanner makes them. */
async function passes(count: number): Promise<string[][]> {
  const found: string[][] = []
  let behind = ''
  for (let i = 0; i < count; i++) {
    const rows = await waitingRedemptions(pool, BATCH, behind, hashOf(`pivot ${i}`))
    found.push(rows.map(({ wallet }) => wallet))
    behind = rows[BATCH - 1]?.wallet ?? ''
  }
  return found
}

test('one wallet with thousands of redemptions delays no other', async () => {
  await redeem(flooding, MANY)
  const customers = ['a', 'b', 'c'].map(walletOf)
  for (const wallet of customers) await redeem(wallet, 1)
  for (const wallets of await passes(5)) {
    assert.equal(wallets.length, BATCH)
    for (const wallet of customers) assert.equal(wallets.filter((one) => one === wallet).length, 1, wallet)
  }
})

test('many wallets have their turns', async () => {
  const others = Array.from({ length: 4 * BATCH }, (_, i) => walletOf(`other ${i}`))
  for (const wallet of others) await redeem(wallet, 1)
  const found = await passes(6)
  const seen = new Set(found.flat())
  for (const wallet of [...others, flooding]) assert.ok(seen.has(wallet), wallet)
})

test('a redemption of a wallet that cannot be credited holds up no other of it for good', async () => {
  const tried = new Set<string>()
  for (let i = 0; i < 200; i++) {
    const rows = await waitingRedemptions(pool, 4 * BATCH + 4, '', hashOf(`pivot ${i}`))
    for (const { id, wallet } of rows) if (wallet === flooding) tried.add(id)
  }
  assert.ok(tried.size > 150, String(tried.size))
})
