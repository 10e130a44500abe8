// Goal: tokens that a request holds are burnt once or free again, whatever ends first: the process, or the month.
// Method: the provider is held, and processes are killed or the series ends meanwhile.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Key } from '../support/clients/accountKeys.ts'
import { apiOk, newOwner } from '../support/clients/apiClient.ts'
import { chat, chatStream } from '../support/clients/chatClient.ts'
import { heldUnits, holdingKnown, plantHolding, plantSeries } from '../support/parts/lockPots.ts'
import {
  EXACT,
  LOCK_BODY,
  LOCK_MODEL,
  LOCK_UNITS,
  type LockReceipt,
  LockWorld,
  SHEET_UNITS,
} from '../support/parts/lockWorld.ts'
import { itemOf, present } from '../support/present.ts'
import { until } from '../support/until.ts'

const NEVER_MS = 600_000
const ENDS_IN_MS = 20_000

let world: LockWorld
before(async () => {
  world = await LockWorld.start(`${EXACT},ttft=20`, {
    limits: { heartbeatTimeoutMs: NEVER_MS, grantSweepMs: 500, lockSeriesCheckMs: 500 },
  })
})
after(() => world.finish())

/** Starts a streamed request, and kills the worker that serves it while the provider works on it. */
async function killDuring(apiKey: string): Promise<void> {
  const { stack } = world
  await stack.provider.hold()
  const call = chat(stack.baseUrl, apiKey, { ...LOCK_BODY, stream: true })
  call.catch(() => undefined)
  await until('the provider works on it', async () => (await stack.provider.open()) > 0)
  process.kill(itemOf(stack.workerPids, 0), 'SIGKILL')
  await stack.provider.release()
  await stack.settled()
  await stack.ready()
}

test('a worker killed in the middle of a stream burns no tokens', async () => {
  const { stack, pool, series } = world
  const account = await world.holder(LOCK_UNITS)
  await killDuring(account.apiKey)
  assert.equal(await heldUnits(pool, series, account.accountId), LOCK_UNITS)
  assert.equal((await world.ask(account)).cost.units, '0')
  await stack.settled()
  assert.equal(await heldUnits(pool, series, account.accountId), 0)
})

test('a worker killed in a request of a capped sub-key that holds tokens and credits releases both, and the caps', async () => {
  const { stack, pool, series } = world
  const quarter = LOCK_UNITS / 4
  // A request that burns a quarter of its tokens, and one at the price sheet.
  const [mixed, both] = [quarter + (SHEET_UNITS * 3) / 4, quarter + (SHEET_UNITS * 3) / 4 + SHEET_UNITS]
  const owner = await newOwner(stack)
  const usd = (units: number) => (units / 1e9).toFixed(9)
  const create = (path: string, token: string, body: object) => apiOk<Key>(stack.baseUrl, 'POST', path, { token, body })
  const platform = await create('/v1/account/keys', owner.token, { platform: true, caps: { day: usd(both) } })
  const bounds = { user: 'user', budget: usd(both), caps: { month: usd(both) } }
  const { api_key: apiKey } = await create('/v1/platform/keys', platform.api_key, bounds)
  await plantHolding(pool, series, owner.accountId, quarter)
  await stack.withAnyRedis((redis) => holdingKnown(redis, owner.accountId, series))

  await killDuring(apiKey)
  assert.equal(await heldUnits(pool, series, owner.accountId), quarter)
  const first = await world.ask({ ...owner, apiKey })
  assert.deepEqual([first.lock?.units, first.hold.units], [String(quarter), String(mixed)])
  await killDuring(apiKey)
  const second = await world.ask({ ...owner, apiKey })
  assert.deepEqual([second.lock, second.cost.units], [undefined, String(SHEET_UNITS)])
  assert.match((await chat(stack.baseUrl, apiKey, LOCK_BODY)).text, /spend_limit_exceeded|key_budget_exceeded/)
  const other = await create('/v1/platform/keys', platform.api_key, { user: 'other' })
  assert.match((await chat(stack.baseUrl, other.api_key, LOCK_BODY)).text, /platform/)
  await stack.settled()
  assert.equal(await heldUnits(pool, series, owner.accountId), 0)
  await stack.audit()
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
