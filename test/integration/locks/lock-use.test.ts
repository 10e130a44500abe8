// Goal: requests burn what their account holds of a series first, exactly, at the provider of the series, and the rest at
// the sheet; receipts, caps and the book agree.
// Method: whole stacks; holdings are written into the book as buying does.

import assert from 'node:assert/strict'
import { Agent } from 'node:http'
import { after, before, describe, test } from 'node:test'
import { formatUsd } from '../../../contract/money/units.ts'
import { holdingAccount, lockIssuedAccount, lockUnearnedAccount } from '../../../control/book/ledger/accounts.ts'
import { chat, chatStream } from '../../support/clients/chatClient.ts'
import { postBy } from '../../support/clients/socketClient.ts'
import { statementUnits } from '../../support/csv.ts'
import { heldUnits } from '../../support/parts/lockPots.ts'
import {
  EXACT,
  LOCK_BODY,
  LOCK_UNITS,
  type LockReceipt,
  LockWorld,
  SHEET_UNITS,
} from '../../support/parts/lockWorld.ts'
import { itemOf, present } from '../../support/present.ts'
import { until } from '../../support/until.ts'

const REQUESTS = 1_000
const SERVED = 10

let world: LockWorld

describe('one after the other', () => {
  before(async () => {
    world = await LockWorld.start(EXACT)
  })
  after(() => world.finish())

  test('tokens pay for all of a request, a share of it, or none of it', async () => {
    const { stack, series, pool } = world
    const account = await world.holder(LOCK_UNITS + LOCK_UNITS / 4)
    const whole = await world.ask(account)
    assert.deepEqual(whole.lock, { series: series.id, tokens: '0.000024', units: String(LOCK_UNITS) })
    assert.deepEqual([whole.cost.units, whole.hold.units], ['0', String(LOCK_UNITS)])
    const mixed = await chatStream(stack.baseUrl, account.apiKey, LOCK_BODY)
    const receipt = present(mixed.receipt ?? undefined) as LockReceipt
    assert.deepEqual(receipt.lock, { series: series.id, tokens: '0.000006', units: String(LOCK_UNITS / 4) })
    assert.equal(receipt.cost.units, String((SHEET_UNITS * 3) / 4))
    assert.equal(receipt.hold.units, String(LOCK_UNITS / 4 + (SHEET_UNITS * 3) / 4))
    const none = await world.ask(account)
    assert.deepEqual([none.lock, none.cost.units], [undefined, String(SHEET_UNITS)])
    await stack.settled()
    assert.equal(await heldUnits(pool, series, account.accountId), 0)
    const shown = await fetch(`${stack.baseUrl}/v1/receipts/${receipt.request_id}`, {
      headers: { authorization: `Bearer ${account.apiKey}` },
    })
    const { lock, cost } = (await shown.json()) as LockReceipt
    assert.deepEqual([lock, cost], [receipt.lock, receipt.cost])
  })

  test('a statement has the tokens that requests burnt, and adds up to the ledger', async () => {
    const { stack, series, pool } = world
    const account = await world.holder(2 * LOCK_UNITS + LOCK_UNITS / 4)
    const receipts = [await world.ask(account), await world.ask(account), await world.ask(account)]
    await stack.settled()
    const printed = await stack.cli('account', 'statement', account.accountId, new Date().toISOString().slice(0, 7))
    const { data: lines } = printed.json as { data: Record<string, string | undefined>[] }
    const charges = receipts.map(({ request_id }) => present(lines.find((line) => line['reference'] === request_id)))
    assert.deepEqual(
      charges.map((line) => [line['type'], line['lock_series'], line['lock_tokens'], line['amount_usd']]),
      [
        ['charge', series.id, '-0.000024', '0'],
        ['charge', series.id, '-0.000024', '0'],
        ['charge', series.id, '-0.000006', formatUsd(-(SHEET_UNITS * 3) / 4)],
      ],
    )
    const burnt = charges.reduce((sum, line) => sum + statementUnits(line['lock_usd']), 0)
    const booked = await pool.query<{ units: number }>(
      `SELECT sum(units) AS units FROM transfers WHERE kind = 'burn' AND ref = ANY ($1)`,
      [receipts.map(({ request_id }) => request_id)],
    )
    assert.deepEqual([burnt, -present(booked.rows[0]).units], [-(2 * LOCK_UNITS + LOCK_UNITS / 4), burnt])
    const all = lines.filter((line) => line['lock_series'] === series.id)
    assert.equal(
      all.reduce((sum, line) => sum + statementUnits(line['lock_usd']), 0),
      await heldUnits(pool, series, account.accountId),
    )
  })

  test('requests that burn tokens are served by the provider of the series, others by the first route', async () => {
    const account = await world.holder(LOCK_UNITS)
    const [first, second] = [await world.ask(account), await world.ask(account)]
    assert.deepEqual([first.lock?.series, second.lock], [world.series.id, undefined])
    await world.stack.settled()
    const found = await world.pool.query<{ provider: string }>(
      'SELECT provider FROM receipts WHERE request_id = ANY ($1) ORDER BY request_id',
      [[first.request_id, second.request_id]],
    )
    assert.deepEqual(
      found.rows.map((row) => row.provider),
      ['mock', 'other'],
    )
  })

  test('caps count burnt tokens at their locked price', async () => {
    const account = await world.holder(4 * LOCK_UNITS, { args: ['--budget', String((2 * LOCK_UNITS) / 1e9)] })
    for (const _ of [1, 2]) assert.equal((await world.ask(account)).cost.units, '0')
    const refused = await chat(world.stack.baseUrl, account.apiKey, LOCK_BODY)
    assert.match(refused.text, /key_budget_exceeded/)
    await world.stack.settled()
    assert.equal(await heldUnits(world.pool, world.series, account.accountId), 2 * LOCK_UNITS)
  })

  test('an account without a balance is served as long as it has tokens', async () => {
    const account = await world.holder(LOCK_UNITS, { credits: '0.000000001' })
    assert.equal((await world.ask(account)).cost.units, '0')
    assert.match((await chat(world.stack.baseUrl, account.apiKey, LOCK_BODY)).text, /insufficient_balance/)
  })

  test('with a max_price below the route, or a disabled provider, no tokens are burnt', async () => {
    const account = await world.holder(LOCK_UNITS)
    const dear = await chat(world.stack.baseUrl, account.apiKey, {
      ...LOCK_BODY,
      provider: { max_price: { prompt: 0.1 } },
    })
    assert.match(dear.text, /max_price/)
    const disabled = await world.stack.cli('route', 'disable', 'mock/*', '--reason', 'test')
    assert.equal(disabled.code, 0, disabled.stderr)
    const probe = await world.holder(1_000 * LOCK_UNITS)
    await until('the provider is off', async () => (await world.ask(probe)).lock === undefined)
    const receipt = await world.ask(account)
    assert.deepEqual([receipt.lock, receipt.cost.units], [undefined, String(SHEET_UNITS)])
    assert.equal((await world.stack.cli('route', 'enable', 'mock/*')).code, 0)
    await until('the provider is on', async () => (await world.ask(probe)).lock !== undefined)
    assert.equal((await world.ask(account)).cost.units, '0')
  })

  test('the proceeds of burnt tokens become revenue in proportion to their share', async () => {
    const { stack, series } = world
    const unearned = lockUnearnedAccount(series.id)
    assert.equal(await world.balanceOf(unearned), 0)
    await stack.settled()
    const account = await world.holder(2 * LOCK_UNITS, { coin: '1' }, 1_000_000)
    const [issued, stock] = [lockIssuedAccount(series.id), holdingAccount(series.id, 'operator')]
    const outstanding = -(await world.balanceOf(issued)) - (await world.balanceOf(stock))
    await world.ask(account)
    await stack.settled()
    assert.equal(await world.balanceOf(unearned), 1_000_000 - Math.floor((1_000_000 * LOCK_UNITS) / outstanding))
  })
})

/** Sends requests, half of them streamed, to all proxies in turn. @returns what each has burnt, in units */
async function sendAll(apiKey: string): Promise<number[]> {
  const agent = new Agent({ keepAlive: true, maxSockets: REQUESTS })
  const { baseUrls } = world.stack
  const send = async (i: number): Promise<number> => {
    const stream = i % 2 === 0
    const url = `${itemOf(baseUrls, Math.floor(i / 2) % baseUrls.length)}/v1/chat/completions`
    const body = { ...LOCK_BODY, stream, messages: [{ role: 'user', content: 'hello' }] }
    const { status, text } = await postBy(agent, url, apiKey, body)
    assert.equal(status, 200, text)
    const receipt = stream
      ? (JSON.parse(/^: receipt (.*)$/m.exec(text)?.[1] ?? '') as LockReceipt)
      : (JSON.parse(text) as { receipt: LockReceipt }).receipt
    const burnt = Number(receipt.lock?.units ?? 0)
    assert.equal(Number(receipt.cost.units), Math.ceil((SHEET_UNITS * (LOCK_UNITS - burnt)) / LOCK_UNITS))
    return burnt
  }
  try {
    return await Promise.all(Array.from({ length: REQUESTS }, (_, i) => send(i)))
  } finally {
    agent.destroy()
  }
}

describe('1,000 concurrent requests, over two proxies of two processes', () => {
  before(async () => {
    // No request ends before all have arrived.
    world = await LockWorld.start(`${EXACT},ttft=300`, { proxies: 2, workers: 2 })
  })
  after(() => world.finish())

  test('a holding for ten requests burns to the last token, and further requests are charged by the price sheet', async () => {
    const account = await world.holder(SERVED * LOCK_UNITS)
    const burnt = await sendAll(account.apiKey)
    assert.equal(
      burnt.reduce((sum, units) => sum + units, 0),
      SERVED * LOCK_UNITS,
    )
    await world.stack.settled()
    assert.equal(await heldUnits(world.pool, world.series, account.accountId), 0)
  })
})
