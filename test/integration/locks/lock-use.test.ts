// Goal: requests burn what their account holds of a series first, exactly, at the provider of the series, and the rest at
// the sheet; receipts, caps and the book agree.
// Method: whole stacks; holdings are written into the book as buying does.

import assert from 'node:assert/strict'
import { Agent } from 'node:http'
import { after, before, describe, test } from 'node:test'
import { holdingAccount, lockIssuedAccount, lockUnearnedAccount } from '../../../control/book/ledger/accounts.ts'
import { createPool, type Pool } from '../../../control/runtime/db/pool.ts'
import { chat, chatStream, type Receipt } from '../../support/clients/chatClient.ts'
import { postBy } from '../../support/clients/socketClient.ts'
import { limits } from '../../support/limits.ts'
import { heldUnits, holdingKnown, type PlantedSeries, plantHolding, plantSeries } from '../../support/parts/lockPots.ts'
import { itemOf, present } from '../../support/present.ts'
import { type Stack, startStack, type TestAccount } from '../../support/stack.ts'
import { until } from '../../support/until.ts'

const REQUESTS = 1_000
const SERVED = 10
const OUTPUT_TOKENS = 10
// 'hello' is held as 3 tokens, with 8 for the message and 16 for the request.
const PROMPT_TOKENS = 27
const SHEET_UNITS = PROMPT_TOKENS * 1_000 + OUTPUT_TOKENS * 2_000
// At 0.5 and 1 USD a million 23,500 units, which are 24 micro-tokens of 1,000 units.
const LOCK_UNITS = 24_000
const MODEL = 'test/exact'

type LockReceipt = Receipt & { readonly lock?: { series: string; tokens: string; units: string } }
const BODY = { model: MODEL, max_tokens: OUTPUT_TOKENS }

const EXACT = `mock,prompt=${PROMPT_TOKENS},completion=${OUTPUT_TOKENS}`

let stack: Stack
let pool: Pool
let series: PlantedSeries

async function receiptOf(account: TestAccount, body = {}, baseUrl = stack.baseUrl): Promise<LockReceipt> {
  const reply = await chat(baseUrl, account.apiKey, { ...BODY, ...body })
  assert.equal(reply.status, 200, reply.text)
  return (JSON.parse(reply.text) as { receipt: LockReceipt }).receipt
}

/** An account that holds tokens, once requests can burn them. */
async function holder(units: number, options: Parameters<Stack['createAccount']>[0] = {}, soldNanos = 0) {
  const account = await stack.createAccount(options)
  await plantHolding(pool, series, account.accountId, units, soldNanos)
  await stack.withAnyRedis((redis) => holdingKnown(redis, account.accountId, series))
  return account
}

/** Waits until every process of the proxy knows the series. */
async function seriesKnown(proxies: number, workers: number): Promise<void> {
  const probe = await holder(1_000 * LOCK_UNITS)
  for (const baseUrl of stack.baseUrls) {
    let burnt = 0
    await until('the series is known', async () => {
      burnt = (await receiptOf(probe, {}, baseUrl)).lock === undefined ? 0 : burnt + 1
      return burnt >= 8 * proxies * workers
    })
  }
}

async function start(proxies: number, workers: number, upstream = EXACT): Promise<void> {
  stack = await startStack({
    proxies,
    workers,
    limits: { catalogCheckMs: 200 },
    catalog: {
      providers: [{ id: 'mock' }, { id: 'other' }],
      models: [
        {
          id: MODEL,
          routes: [
            { provider: 'other', model: upstream },
            { provider: 'mock', model: upstream },
          ],
        },
      ],
    },
  })
  pool = createPool(stack.databaseUrl, limits)
  series = await plantSeries(pool, { model: MODEL })
  await seriesKnown(proxies, workers)
}

async function finish(): Promise<void> {
  await pool.end()
  await stack.finish()
}

async function balanceOf(id: string): Promise<number> {
  const found = await pool.query<{ balance: number }>('SELECT balance FROM ledger_accounts WHERE id = $1', [id])
  return present(found.rows[0]).balance
}

describe('one after the other', () => {
  before(() => start(1, 1))
  after(() => finish())

  test('tokens pay for all of a request, for a share of it, and for none', async () => {
    const account = await holder(LOCK_UNITS + LOCK_UNITS / 4)
    const whole = await receiptOf(account)
    assert.deepEqual(whole.lock, { series: series.id, tokens: '0.000024', units: String(LOCK_UNITS) })
    assert.deepEqual([whole.cost.units, whole.hold.units], ['0', String(LOCK_UNITS)])
    const mixed = await chatStream(stack.baseUrl, account.apiKey, BODY)
    const receipt = present(mixed.receipt ?? undefined) as LockReceipt
    assert.deepEqual(receipt.lock, { series: series.id, tokens: '0.000006', units: String(LOCK_UNITS / 4) })
    assert.equal(receipt.cost.units, String((SHEET_UNITS * 3) / 4))
    assert.equal(receipt.hold.units, String(LOCK_UNITS / 4 + (SHEET_UNITS * 3) / 4))
    const none = await receiptOf(account)
    assert.deepEqual([none.lock, none.cost.units], [undefined, String(SHEET_UNITS)])
    await stack.settled()
    assert.equal(await heldUnits(pool, series, account.accountId), 0)
    const shown = await fetch(`${stack.baseUrl}/v1/receipts/${receipt.request_id}`, {
      headers: { authorization: `Bearer ${account.apiKey}` },
    })
    const { lock, cost } = (await shown.json()) as LockReceipt
    assert.deepEqual([lock, cost], [receipt.lock, receipt.cost])
  })

  test('what burns tokens is served by the provider of the series, all else by the first', async () => {
    const account = await holder(LOCK_UNITS)
    const [first, second] = [await receiptOf(account), await receiptOf(account)]
    assert.deepEqual([first.lock?.series, second.lock], [series.id, undefined])
    await stack.settled()
    const found = await pool.query<{ provider: string }>(
      'SELECT provider FROM receipts WHERE request_id = ANY ($1) ORDER BY request_id',
      [[first.request_id, second.request_id]],
    )
    assert.deepEqual(
      found.rows.map((row) => row.provider),
      ['mock', 'other'],
    )
  })

  test('caps count what is burnt at its locked price', async () => {
    const account = await holder(4 * LOCK_UNITS, { args: ['--budget', String((2 * LOCK_UNITS) / 1e9)] })
    for (const _ of [1, 2]) assert.equal((await receiptOf(account)).cost.units, '0')
    const refused = await chat(stack.baseUrl, account.apiKey, BODY)
    assert.match(refused.text, /key_budget_exceeded/)
    await stack.settled()
    assert.equal(await heldUnits(pool, series, account.accountId), 2 * LOCK_UNITS)
  })

  test('an account without a balance is served as far as its tokens go', async () => {
    const account = await holder(LOCK_UNITS, { credits: '0.000000001' })
    assert.equal((await receiptOf(account)).cost.units, '0')
    assert.match((await chat(stack.baseUrl, account.apiKey, BODY)).text, /insufficient_balance/)
  })

  test('what the gateway sold burnt tokens for becomes revenue, by their share', async () => {
    const before = await balanceOf(lockUnearnedAccount(series.id))
    assert.equal(before, 0)
    const account = await holder(2 * LOCK_UNITS, { coin: '1' }, 1_000_000)
    const outstanding = -(await balanceOf(lockIssuedAccount(series.id))) - (await balanceOf(holdingAccount(series.id, 'operator')))
    await receiptOf(account)
    await stack.settled()
    const earned = Math.floor((1_000_000 * LOCK_UNITS) / outstanding)
    assert.equal(await balanceOf(lockUnearnedAccount(series.id)), 1_000_000 - earned)
  })
})

/** Sends requests, half of them streamed, to all proxies in turn. @returns what each has burnt, in units */
async function sendAll(apiKey: string): Promise<number[]> {
  const agent = new Agent({ keepAlive: true, maxSockets: REQUESTS })
  const send = async (i: number): Promise<number> => {
    const stream = i % 2 === 0
    const url = `${itemOf(stack.baseUrls, Math.floor(i / 2) % stack.baseUrls.length)}/v1/chat/completions`
    const body = { ...BODY, stream, messages: [{ role: 'user', content: 'hello' }] }
    const { status, text } = await postBy(agent, url, apiKey, body)
    assert.equal(status, 200, text)
    const receipt = stream
      ? (JSON.parse(/^: receipt (.*)$/m.exec(text)?.[1] ?? '') as LockReceipt)
      : (JSON.parse(text) as { receipt: LockReceipt }).receipt
    const burnt = Number(receipt.lock?.units ?? 0)
    const share = (SHEET_UNITS * (LOCK_UNITS - burnt)) / LOCK_UNITS
    assert.equal(Number(receipt.cost.units), Math.ceil(share))
    return burnt
  }
  try {
    return await Promise.all(Array.from({ length: REQUESTS }, (_, i) => send(i)))
  } finally {
    agent.destroy()
  }
}

describe('1,000 requests at once, over two proxies of two processes', () => {
  before(() => start(2, 2, `mock,ttft=300,prompt=${PROMPT_TOKENS},completion=${OUTPUT_TOKENS}`))
  after(() => finish())

  test('a holding for ten burns to the last token, and all else runs at the sheet', async () => {
    const account = await holder(SERVED * LOCK_UNITS)
    const burnt = await sendAll(account.apiKey)
    assert.equal(
      burnt.reduce((sum, units) => sum + units, 0),
      SERVED * LOCK_UNITS,
    )
    await stack.settled()
    assert.equal(await heldUnits(pool, series, account.accountId), 0)
  })
})
