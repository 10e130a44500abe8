// Goal: tokens that a request holds are burnt once or free again, whatever ends first: the process, or the month.
// Method: the provider is held, and processes are killed or the series ends meanwhile.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { chat, chatStream } from '../support/clients/chatClient.ts'
import { heldUnits, plantSeries } from '../support/parts/lockPots.ts'
import { EXACT, LOCK_BODY, LOCK_MODEL, LOCK_UNITS, type LockReceipt, LockWorld } from '../support/parts/lockWorld.ts'
import { itemOf, present } from '../support/present.ts'
import { until } from '../support/until.ts'

const NEVER_MS = 600_000
const ENDS_IN_MS = 8_000

let world: LockWorld
before(async () => {
  world = await LockWorld.start(`${EXACT},ttft=20`, {
    limits: { heartbeatTimeoutMs: NEVER_MS, grantSweepMs: 500, lockSeriesCheckMs: 500 },
  })
})
after(() => world.finish())

test('a worker killed in the middle of a stream burns no tokens', async () => {
  const { stack, pool, series } = world
  const account = await world.holder(LOCK_UNITS)
  await stack.provider.hold()
  const call = chat(stack.baseUrl, account.apiKey, { ...LOCK_BODY, stream: true })
  call.catch(() => undefined)
  await until('the provider works on it', async () => (await stack.provider.open()) > 0)
  process.kill(itemOf(stack.workerPids, 0), 'SIGKILL')
  await stack.provider.release()
  await stack.settled()
  await stack.ready()
  assert.equal(await heldUnits(pool, series, account.accountId), LOCK_UNITS)
  assert.equal((await world.ask(account)).cost.units, '0')
  await stack.settled()
  assert.equal(await heldUnits(pool, series, account.accountId), 0)
})

test('a request running past the end of the month burns the tokens that it holds; the remaining tokens expire', async () => {
  const { stack, pool } = world
  const ending = await plantSeries(pool, { model: LOCK_MODEL, endsAtMs: Date.now() + ENDS_IN_MS })
  await world.known(ending)
  const account = await world.holder(3 * LOCK_UNITS, {}, 0, ending)
  await stack.provider.hold()
  const call = chatStream(stack.baseUrl, account.apiKey, LOCK_BODY)
  await until('the provider works on it', async () => (await stack.provider.open()) > 0)
  await until('the month is over', () => Date.now() > ending.endsAtMs)
  await stack.provider.release()
  const receipt = present((await call).receipt ?? undefined) as LockReceipt
  assert.deepEqual(
    [receipt.lock?.series, receipt.lock?.units, receipt.cost.units],
    [ending.id, String(LOCK_UNITS), '0'],
  )
  assert.equal((await world.ask(account)).lock, undefined)
  await stack.settled()
  await until('the rest has burnt', async () => (await heldUnits(pool, ending, account.accountId)) === 0)
  await until('the series is closed', async () => {
    const found = await pool.query<{ state: string }>('SELECT state FROM lock_series WHERE id = $1', [ending.id])
    return found.rows[0]?.state === 'closed'
  })
})
