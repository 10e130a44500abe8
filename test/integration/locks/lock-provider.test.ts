// Goal: where the provider of a series fails before its first byte, a request is refused and moves nothing, until the route is
// known to be down and requests run at the price sheet; where it fails after, what was delivered is charged in tokens first.
// Method: a whole stack; the other provider of each model answers well, so that a request which falls back would show.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { lockCharge } from '../../../contract/money/lockCharge.ts'
import { chat, chatStream } from '../../support/clients/chatClient.ts'
import { heldUnits, type PlantedSeries, plantSeries } from '../../support/parts/lockPots.ts'
import {
  EXACT,
  LOCK_BODY,
  LOCK_UNITS,
  type LockReceipt,
  LockWorld,
  OUTPUT_TOKENS,
  SHEET_UNITS,
} from '../../support/parts/lockWorld.ts'
import { present } from '../../support/present.ts'
import type { TestAccount } from '../../support/stack.ts'
import { until } from '../../support/until.ts'

const MICRO_UNITS = 1_000
const QUARTER = LOCK_UNITS / 4

let world: LockWorld
before(async () => {
  const model = (id: string, upstream: string) => ({
    id,
    routes: [
      { provider: 'other', model: EXACT },
      { provider: 'mock', model: upstream },
    ],
  })
  world = await LockWorld.start(EXACT, {}, [
    model('test/error', `${EXACT},error=500`),
    model('test/reset', `${EXACT},reset`),
    model('test/cut', 'mock,prompt=27,chunks=20,cut=4,usage=none'),
  ])
})
after(() => world.finish())

/** Units of credits that the book says an account has. */
async function creditsOf({ accountId }: TestAccount): Promise<number> {
  const found = await world.pool.query<{ units: number }>(
    `SELECT sum(balance)::bigint AS units FROM ledger_accounts WHERE owner = $1 AND kind = 'grant'`,
    [accountId],
  )
  return present(found.rows[0]).units
}

/** A series of a model, and an account that holds a quarter of what one request burns. */
async function quarterOf(model: string): Promise<[TestAccount, PlantedSeries]> {
  const series = await plantSeries(world.pool, { model })
  return [await world.holder(QUARTER, {}, 0, series), series]
}

for (const model of ['test/error', 'test/reset']) {
  test(`${model}: before the first byte the request is refused, and neither tokens nor credits move`, async () => {
    const [account, series] = await quarterOf(model)
    const body = { ...LOCK_BODY, model }
    let sheetCharges = 0
    let refused = ''
    await until('requests go to the provider of the series', async () => {
      const reply = await chat(world.stack.baseUrl, account.apiKey, body)
      if (reply.status === 200) sheetCharges++
      else refused = reply.text
      return reply.status !== 200
    })
    assert.match(refused, /provider_|upstream_/)
    let receipt: LockReceipt | undefined
    await until('the route is down, and requests run at the price sheet', async () => {
      const reply = await chat(world.stack.baseUrl, account.apiKey, body)
      if (reply.status === 200) receipt = (JSON.parse(reply.text) as { receipt: LockReceipt }).receipt
      return reply.status === 200
    })
    sheetCharges++
    assert.deepEqual([receipt?.lock, receipt?.cost.units], [undefined, String(SHEET_UNITS)])
    await world.stack.settled()
    assert.equal(await heldUnits(world.pool, series, account.accountId), QUARTER)
    assert.equal(await creditsOf(account), 10_000_000_000 - sheetCharges * SHEET_UNITS)
  })
}

test('after the first byte, tokens pay their share of what was delivered and credits the rest', async () => {
  const [account, series] = await quarterOf('test/cut')
  let receipt: LockReceipt | undefined
  let sheetUnits = 0
  await until('requests burn tokens', async () => {
    const reply = await chatStream(world.stack.baseUrl, account.apiKey, { ...LOCK_BODY, model: 'test/cut' })
    receipt = present(reply.receipt ?? undefined) as LockReceipt
    if (receipt.lock === undefined) sheetUnits += Number(receipt.cost.units)
    return receipt.lock !== undefined
  })
  const { usage, cost, lock, status, usage_source } = present(receipt)
  assert.deepEqual([status, usage_source], ['partial', 'estimated'])
  assert.ok(usage.completion_tokens > 0 && usage.completion_tokens < OUTPUT_TOKENS, `${usage.completion_tokens} tokens`)
  const [input, output] = [usage.prompt_tokens, usage.completion_tokens]
  const atLock = Math.ceil((input * 500 + output * 1_000) / MICRO_UNITS) * MICRO_UNITS
  const charge = lockCharge(input * 1_000 + output * 2_000, atLock, QUARTER)
  assert.ok(charge.lockUnits === QUARTER && charge.sheetUnits > 0)
  assert.deepEqual([lock?.units, cost.units], [String(charge.lockUnits), String(charge.sheetUnits)])
  await world.stack.settled()
  assert.equal(await heldUnits(world.pool, series, account.accountId), 0)
  assert.equal(await creditsOf(account), 10_000_000_000 - sheetUnits - charge.sheetUnits)
})
