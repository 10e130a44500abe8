// Goal: coin that leaves an account is moved once or stays, also when control is killed at any moment in between. Method:
// control is stopped in the middle by a lock in the database, or killed at random under load; then the books are audited.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { debitsKey, SHARD_COUNT } from '../../contract/wire/redisKeys.ts'
import { createPool, type Pool } from '../../control/runtime/db/pool.ts'
import { type ApiAnswer, api, apiOk, newOwner, type Owner } from '../support/clients/apiClient.ts'
import { limits } from '../support/limits.ts'
import { rounds } from '../support/rounds.ts'
import { type Stack, startStack, until } from '../support/stack.ts'
import { startWorkload } from '../support/workload.ts'

const LIMITS = {
  debitVoidMs: 1_500,
  debitCheckMs: 200,
  linkExpiryMs: 200,
  linksPerAccountMax: 100_000,
  apiRequestsPerMinute: 60_000,
  apiRequestBurst: 10_000,
  apiTimeoutMs: 4_000,
}

/** How many debits are taken in Redis. */
function takenIn(stack: Stack): Promise<number> {
  return stack.withRedis(async (redis) => {
    let count = 0
    for (let shard = 0; shard < SHARD_COUNT; shard++) count += await redis.hlen(debitsKey(shard))
    return count
  })
}

async function coinOf(stack: Stack, owner: Owner): Promise<{ book: string; free: string }> {
  const account = await apiOk<{ balance: { coin: string }; available: { coin: string } }>(
    stack.baseUrl,
    'GET',
    '/v1/account',
    { token: owner.token },
  )
  return { book: account.balance.coin, free: account.available.coin }
}

/** A link of 3 of 4 coins, whose coin is taken and whose booking waits until it is let go. */
async function heldUp(
  stack: Stack,
  pool: Pool,
): Promise<{ giver: Owner; answer: Promise<ApiAnswer>; letGo: () => Promise<void> }> {
  const giver = await newOwner(stack, { coin: '4' })
  const blocker = await pool.connect()
  await blocker.query('BEGIN')
  await blocker.query('LOCK TABLE debits IN SHARE MODE')
  const answer = api(stack.baseUrl, 'POST', '/v1/links', { token: giver.token, body: { amount: '3' } })
  await until('the coin is taken', async () => (await takenIn(stack)) === 1)
  const letGo = async (): Promise<void> => {
    await blocker.query('ROLLBACK')
    blocker.release()
  }
  return { giver, answer, letGo }
}

test('control killed between taking and booking: the coin is returned', async () => {
  const stack = await startStack({ limits: LIMITS })
  const pool = createPool(stack.databaseUrl, limits)
  try {
    const { giver, answer: blocked, letGo } = await heldUp(stack, pool)
    await stack.audit()
    await stack.control.kill9()
    assert.equal((await blocked).status, 503)
    await letGo()
    assert.equal(await takenIn(stack), 1)
    await stack.control.start()
    await until('it is given back', async () => (await takenIn(stack)) === 0)
    await until('the account can spend it', async () => (await coinOf(stack, giver)).free === '4')
    assert.equal((await coinOf(stack, giver)).book, '4')
    const left = await pool.query('SELECT 1 FROM links')
    assert.equal(left.rowCount, 0)
  } finally {
    await pool.end()
    await stack.finish()
  }
})

test('a slow booking that timed out can no longer be booked', async () => {
  const stack = await startStack({ limits: { ...LIMITS, debitVoidMs: 300, apiTimeoutMs: 5_000 } })
  const pool = createPool(stack.databaseUrl, limits)
  try {
    const { giver, answer: slow, letGo } = await heldUp(stack, pool)
    // The keeper wants to void it, and the transaction wants to book it: whoever gets the table first wins.
    await until('both wait', async () => {
      const waiting = await pool.query<{ count: number }>('SELECT count(*) FROM pg_locks WHERE NOT granted')
      return (waiting.rows[0]?.count ?? 0) >= 2
    })
    await letGo()
    const answer = await slow
    await until('it is ended', async () => (await takenIn(stack)) === 0)
    const won = answer.status === 201
    assert.deepEqual(await coinOf(stack, giver), won ? { book: '1', free: '1' } : { book: '4', free: '4' })
  } finally {
    await pool.end()
    await stack.finish()
  }
})

test('control and Redis killed repeatedly under load: no coin is lost or created', async () => {
  const stack = await startStack({ limits: LIMITS })
  const pool = createPool(stack.databaseUrl, limits)
  try {
    const owners = await Promise.all([1, 2, 3].map(() => newOwner(stack, { coin: '5' })))
    const workload = startWorkload(stack, owners[0] ?? assert.fail(), ['test/small'], 4)
    let stopped = false
    let moved = 0
    const mover = async (own: Owner, other: Owner): Promise<void> => {
      const send = (path: string, by: Owner, body: object): Promise<ApiAnswer | undefined> =>
        api(stack.baseUrl, 'POST', path, { token: by.token, body }).catch(() => undefined)
      while (!stopped) {
        const made = await send('/v1/links', own, { amount: '0.05' })
        if (made?.status !== 201) {
          await sleep(20)
          continue
        }
        const { token, id } = made.body as { token: string; id: string }
        const ended =
          moved % 3 === 0
            ? await send(`/v1/links/${id}/cancel`, own, {})
            : await send(`/v1/links/${token}/claim`, other, {})
        if (ended?.status === 200) moved++
      }
    }
    const movers = owners.map((own, i) => mover(own, owners[(i + 1) % owners.length] ?? own))
    for (let round = 0; round < rounds({ short: 3, long: 12 }); round++) {
      const target = moved + 15
      await until('links move', () => moved >= target, 60_000)
      if (round % 3 === 2) {
        await stack.redis.kill9()
        await stack.redis.restart()
      } else {
        await stack.control.kill9()
        await stack.control.start()
      }
    }
    stopped = true
    await Promise.all(movers)
    await workload.stop()
    await stack.settled()
    await until('nothing is left taken', async () => (await takenIn(stack)) === 0)
    const sums = await pool.query<{ units: number }>(
      `SELECT sum(balance) AS units FROM ledger_accounts WHERE id LIKE 'coin:%' OR id = 'escrow_coin'`,
    )
    const spent = await pool.query<{ units: number }>(
      `SELECT coalesce(sum(units), 0) AS units FROM transfers WHERE kind = 'charge' AND debit LIKE 'coin:%'`,
    )
    assert.equal(sums.rows[0]?.units, 15_000_000_000 - (spent.rows[0]?.units ?? 0))
    const house = await pool.query(`SELECT 1 FROM transfers WHERE debit = 'house' AND kind <> 'grant'`)
    assert.equal(house.rowCount, 0, 'the house had to bear something')
  } finally {
    await pool.end()
    await stack.finish()
  }
})
