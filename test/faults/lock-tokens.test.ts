// Goal: control that is killed between any two steps of a withdrawal or a redemption of lock tokens loses none and makes none:
// each is done once, and at every moment the tokens of a series are held, in escrow, on the chain or burnt.
// Method: control is stopped at each step in turn by a lock in the database or a node that does not answer, and killed there.
import assert from 'node:assert/strict'
import test, { after, before } from 'node:test'
import { debitsKey, SHARD_COUNT } from '../../contract/wire/redisKeys.ts'
import { issueLock } from '../support/clients/lockClient.ts'
import type { Holder } from '../support/clients/moneyClient.ts'
import { LockTokenStack } from '../support/parts/lockTokenStack.ts'
import { until } from '../support/stack.ts'

const TOKEN = 1_000_000
const BOUGHT = 20 * TOKEN
const HALF = TOKEN / 2

let world: LockTokenStack
let holder: Holder
let series: string
before(async () => {
  world = await LockTokenStack.start({ limits: { debitVoidMs: 500, debitCheckMs: 100 } })
  series = await issueLock(world.paid.stack)
  holder = await world.buyer(series, '20')
})
after(() => world.paid.stop())

const scalar = async (sql: string): Promise<number> => {
  const found = await world.paid.pool.query<{ n: number }>(`SELECT (${sql})::bigint AS n`)
  return found.rows[0]?.n ?? 0
}

/** Keeps a table from being written, and so control from going on. @returns what lets it go on */
async function freeze(table: string): Promise<() => Promise<void>> {
  const client = await world.paid.pool.connect()
  await client.query('BEGIN')
  await client.query(`LOCK TABLE ${table} IN SHARE MODE`)
  return async () => {
    await client.query('ROLLBACK')
    client.release()
  }
}

const refuse = (method: string) => async () => {
  world.paid.rpc.refused.add(method)
  return async () => void world.paid.rpc.refused.delete(method)
}

/** Whether control waits to write a frozen table. */
const isStopped = (table: string) => async () =>
  (await scalar(`SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = '${table}'::regclass`)) > 0

/** Amounts that are taken in Redis and not booked. */
const takenInRedis = () =>
  world.paid.stack.withRedis(async (redis) => {
    let count = 0
    for (let shard = 0; shard < SHARD_COUNT; shard++) count += await redis.hlen(debitsKey(shard))
    return count
  })

/** A place at which control is stopped and killed. */
interface Place {
  /** Keeps control from going on behind it. @returns what lets it go on, once control is killed */
  readonly stop: () => Promise<() => Promise<void>>
  readonly isReached: () => Promise<boolean>
}

async function killAt({ stop, isReached }: Place, act: () => Promise<unknown>): Promise<void> {
  const { stack } = world.paid
  const letGo = await stop()
  const acted = act()
  acted.catch(() => undefined)
  await until('control is there', isReached)
  await stack.control.kill9()
  await acted.catch(() => undefined)
  await stack.audit()
  await letGo()
  await stack.control.start()
}

/** Asserts that nothing is on the way any more, and that the account and its wallet have all tokens. @param micros in the wallet */
async function whole(micros: number): Promise<void> {
  await world.paid.mended()
  await until('all tokens are back or on the chain', async () => {
    return (await world.onChain(holder, series)) === micros && (await world.held(holder, series)) === BOUGHT - micros
  })
  assert.ok((await world.withdrawals(holder)).every(({ status }) => status === 'sent'))
}

const inPool = async () => (await world.paid.chain.pooled()).length > 0
const noBlocks = async () => {
  await world.paid.chain.client.setAutomine(false)
  return () => world.paid.chain.resume()
}

const WITHDRAWAL: Readonly<Record<string, Place>> = {
  'taken in Redis': { stop: () => freeze('debits'), isReached: async () => (await takenInRedis()) === 1 },
  'booked, and no transaction stored': {
    stop: () => freeze('chain_transactions'),
    isReached: isStopped('chain_transactions'),
  },
  'stored, and not sent': {
    stop: refuse('eth_sendRawTransaction'),
    isReached: async () => (await scalar(`SELECT count(*) FROM chain_transactions WHERE state = 'pending'`)) > 0,
  },
  'sent, and in no block': { stop: noBlocks, isReached: inPool },
  'in a block, and not seen': {
    stop: refuse('eth_getTransactionReceipt'),
    isReached: async () => (await world.onChain(holder, series)) > minted,
  },
  'seen, and not booked': {
    stop: async () => {
      const mine = await noBlocks()
      let letGo = async () => {}
      const frozen = until('it is in the pool', inPool).then(async () => {
        letGo = await freeze('lock_withdrawals')
        await mine()
      })
      return () => frozen.then(() => letGo())
    },
    isReached: isStopped('lock_withdrawals'),
  },
}

/** Micro-tokens in the wallet before a withdrawal. */
let minted = 0

for (const [name, place] of Object.entries(WITHDRAWAL)) {
  test(`a withdrawal that control was killed in, ${name}, is made once`, async () => {
    const key = name.replaceAll(/[ ,]+/g, '-')
    await killAt(place, () => world.withdraw(holder, series, '1', key))
    await until('it is accepted', async () => (await world.withdraw(holder, series, '1', key)).status === 202)
    minted += TOKEN
    await whole(minted)
  })
}

const waiting = () => scalar(`SELECT count(*) FROM lock_redemptions WHERE state = 'waiting'`)

const REDEMPTION: Readonly<Record<string, Place>> = {
  'burnt on the chain, and not read': {
    stop: refuse('eth_getLogs'),
    isReached: async () => (await world.onChain(holder, series)) < minted,
  },
  'read, and not stored': { stop: () => freeze('lock_redemptions'), isReached: isStopped('lock_redemptions') },
  'stored, and not credited': {
    stop: () => freeze('lock_holdings'),
    isReached: async () => (await waiting()) > 0 && (await isStopped('lock_holdings')()),
  },
  'credited in the book, and not in Redis': {
    stop: async () => {
      await world.paid.stack.withRedis((redis) => redis.call('CLIENT', 'PAUSE', '60000', 'WRITE'))
      return () => world.paid.stack.withRedis(async (redis) => void (await redis.call('CLIENT', 'UNPAUSE')))
    },
    isReached: async () => (await scalar('SELECT count(*) FROM admission_events')) > 0,
  },
}

for (const [name, place] of Object.entries(REDEMPTION)) {
  test(`a redemption that control was killed in, ${name}, is credited once`, async () => {
    await killAt(place, () => world.redeem(holder, series, BigInt(HALF)))
    minted -= HALF
    await whole(minted)
  })
}
