// Goal: a replica that takes over without the master's last writes neither loses what ended nor gives anybody more to spend.
// Method: a replica is kept from following and then made the master, while no control is free to load the state anew: what
// is spent, held, delivered or moved meanwhile is what the replica never heard of.
import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import type pg from 'pg'
import { OWNERS_KEY } from '../../contract/wire/redisKeys.ts'
import { tryLock } from '../../control/runtime/db/locks.ts'
import { createPool, type Pool } from '../../control/runtime/db/pool.ts'
import { AgentClient } from '../support/clients/agentClient.ts'
import { api, newOwner, type Owner } from '../support/clients/apiClient.ts'
import { assertError, chat, completion, type Receipt, receiptOf } from '../support/clients/chatClient.ts'
import { StreamCall } from '../support/clients/streamCall.ts'
import { limits } from '../support/limits.ts'
import { present } from '../support/present.ts'
import { LaggingReplica } from '../support/redis/laggingReplica.ts'
import { type Stack, startStack, until } from '../support/stack.ts'

const MODEL = 'test/exact'
const PROMPT_TOKENS = 27
const OUTPUT_TOKENS = 10
/** Covers exactly four requests, which are charged what they hold: 0.000047 USD each. */
const EXACT = '0.000188'
const SERVED = 4
const BODY = { model: MODEL, max_tokens: OUTPUT_TOKENS }

let servers: LaggingReplica
let stack: Stack
let pool: Pool
let owner: Owner
let unlock: () => Promise<void>
let locked: Promise<unknown>

beforeEach(async () => {
  servers = await LaggingReplica.start()
  const upstream = `mock,chunks=5,delay=5,prompt=${PROMPT_TOKENS},completion=${OUTPUT_TOKENS}`
  stack = await startStack({
    redis: servers,
    catalog: { models: [{ id: MODEL, upstream }] },
    limits: { heartbeatIntervalMs: 200, breakerFailures: 1_000_000 },
  })
  pool = createPool(stack.databaseUrl, limits)
  owner = await newOwner(stack, { coin: EXACT })
  unlock = await lockAdmission()
  await servers.lag()
})
afterEach(async () => {
  await unlock()
  await pool.end()
  await stack.finish()
})

/** Keeps every control from loading the admission state, as one does that hangs in the middle of it. */
async function lockAdmission(): Promise<() => Promise<void>> {
  let release = (): void => undefined
  const isReleased = new Promise<void>((resolve) => {
    release = resolve
  })
  await until('nobody else has it', async () => {
    const isLocked = new Promise<boolean>((resolve) => {
      locked = tryLock(pool, 'admission', async () => {
        resolve(true)
        await isReleased
      }).then(() => resolve(false))
    })
    return isLocked
  })
  return async () => {
    release()
    await locked
  }
}

async function serve(count: number): Promise<Receipt[]> {
  const receipts: Receipt[] = []
  for (let i = 0; i < count; i++) receipts.push(completion(await chat(stack.baseUrl, owner.apiKey, BODY)).receipt)
  return receipts
}

/** Nobody is served on what the replica has, whoever asks for it and as often as they do. */
async function servesNobody(): Promise<void> {
  const askedBefore = (await stack.provider.log()).length
  const openBefore = await stack.provider.open()
  for (let i = 0; i < 2 * SERVED; i++) {
    assertError(await chat(stack.baseUrl, owner.apiKey, BODY), 503, 'admission_unavailable')
  }
  assert.equal((await stack.provider.log()).length, askedBefore)
  assert.equal(await stack.provider.open(), openBefore)
}

/** Once control can load the state, the account has nothing left. */
async function hasNothingLeft(): Promise<void> {
  await unlock()
  await until('admission is open', async () => {
    const reply = await chat(stack.baseUrl, owner.apiKey, BODY)
    if (reply.status !== 503) assertError(reply, 402, 'insufficient_balance')
    return reply.status !== 503
  })
}

async function bookedCoin(): Promise<number> {
  const found = await pool.query<{ balance: number }>('SELECT balance FROM ledger_accounts WHERE id = $1', [
    `coin:${owner.accountId}`,
  ])
  return present(found.rows[0]).balance
}

test('booked spending is not available again after a failover', async () => {
  await serve(SERVED)
  await stack.settled()
  await servers.failOver()
  await connected()
  await servesNobody()
  await hasNothingLeft()
  assert.equal(await bookedCoin(), 0)
})

test('held amounts are not available to other requests or transfers after a failover', async () => {
  const agents = new AgentClient(stack.baseUrl, owner)
  const { slug } = await agents.make()
  await stack.provider.hold()
  const calls = Array.from({ length: SERVED }, () => new StreamCall(stack.baseUrl, owner.apiKey, BODY))
  await until('all of them run', () => calls.every((call) => call.hasBegun))
  await servers.failOver()
  await connected()
  await servesNobody()
  assert.equal((await agents.fund(slug, EXACT)).status, 503)
  await hasNothingLeft()
  await stack.provider.release()
  for (const call of calls) assert.ok((await call.reply()).done)
  await stack.settled()
  for (const call of calls) assert.equal(call.receipt?.status, 'ok')
  assert.equal(await bookedCoin(), 0)
})

test('endings are booked although the failover lost their delivery', async () => {
  const locker = await pool.connect()
  await lockBook(locker)
  const shown = await serve(SERVED)
  await until('all are delivered', () => isDelivered())
  await servers.failOver()
  await locker.query('ROLLBACK')
  locker.release()
  await hasNothingLeft()
  await stack.settled()
  for (const { request_id, cost } of shown) {
    assert.deepEqual((await receiptOf(stack.baseUrl, owner.apiKey, request_id)).cost, cost)
  }
  assert.equal(await bookedCoin(), 0)
})

/** The proxy's connections lead to the new server, and control answers over it. */
async function connected(): Promise<void> {
  const seen = await beatMs()
  await until('the proxy beats there', async () => (await beatMs()) > seen)
  await until('control answers', async () => {
    const { status } = await api(stack.baseUrl, 'GET', '/v1/receipts?limit=1', { token: owner.apiKey })
    return status === 200
  })
}

function beatMs(): Promise<number> {
  return stack.withRedis(async (redis) => Number((await redis.zrange(OWNERS_KEY, '0', '0', 'WITHSCORES'))[1]))
}

async function lockBook(client: pg.PoolClient): Promise<void> {
  await client.query('BEGIN')
  await client.query('LOCK TABLE receipts IN EXCLUSIVE MODE')
}

async function isDelivered(): Promise<boolean> {
  const text = await (await fetch(stack.metricsUrl)).text()
  return /^sluice_endings_undelivered 0$/m.test(text)
}
