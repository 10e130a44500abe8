// Goal: an operator gives the coin another price while requests run, and nobody's coin changes by it; what requests cost is
// taken at the price that they were held at, to 1e-9 coin. Method: a whole stack under load with an agent and open links; the
// price is published twice; at the end every receipt is added up, and the audit run.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { coinFor } from '../../../contract/money/coin.ts'
import { parseUsd, UNITS_PER_USD } from '../../../contract/money/units.ts'
import { api, apiOk, assertRefused, type Json, newOwner, type Owner } from '../../support/clients/apiClient.ts'
import { chat, completion, type Receipt } from '../../support/clients/chatClient.ts'
import { type Stack, startStack, until } from '../../support/stack.ts'

const MODELS = [{ id: 'test/small' }, { id: 'test/slow', upstream: 'chat-small,chunks=20,delay=20' }]
const AT_ONCE = 6

let stack: Stack
let url: string

before(async () => {
  stack = await startStack({ catalog: { models: MODELS } })
  url = stack.baseUrl
})
after(() => stack.finish())

interface Account {
  readonly balance: { readonly coin: string }
  readonly available: { readonly coin: string }
}
interface Link extends Json {
  readonly token: string
  readonly id: string
  readonly amount: { readonly usd: string; readonly coin: string }
}

const nanosOf = (coin: string): number => parseUsd(coin) ?? assert.fail(`${coin} is no amount`)
const post = <Answer>(by: Owner, path: string, body: Json = {}) =>
  apiOk<Answer>(url, 'POST', path, { token: by.token, body })

async function coinOf(owner: Owner): Promise<number> {
  const { balance, available } = await apiOk<Account>(url, 'GET', '/v1/account', { token: owner.token })
  assert.deepEqual(balance, available)
  return nanosOf(balance.coin)
}

/** @param coinUsd what a coin is worth from now on */
async function publish(coinUsd: string): Promise<void> {
  stack.writeCatalog({ models: MODELS, coinUsd })
  const done = await stack.cli('catalog', 'publish', join(stack.dir, 'catalog.yaml'), '--change-coin', 'market')
  assert.equal(done.code, 0, done.stderr)
}

async function ask(apiKey: string, model = 'test/small'): Promise<Receipt> {
  return completion(await chat(url, apiKey, { model, max_tokens: 20 })).receipt
}

/** Requests of a key, one after the other, until it is over. */
async function load(apiKey: string, isOver: () => boolean): Promise<Receipt[]> {
  const receipts: Receipt[] = []
  for (let i = 0; !isOver(); i++) receipts.push(await ask(apiKey, MODELS[i % 4 === 0 ? 1 : 0]?.id))
  return receipts
}

/** Asks until a request is served by this price. @returns the receipts of all */
async function askAt(apiKey: string, coinUsd: string): Promise<Receipt[]> {
  const receipts: Receipt[] = []
  await until(`a coin is ${coinUsd} USD`, async () => {
    const receipt = await ask(apiKey)
    receipts.push(receipt)
    return (await priceOf(receipt.price_sheet)) === parseUsd(coinUsd)
  })
  return receipts
}

/** @returns units in one coin, by a price sheet */
async function priceOf(sheet: string): Promise<number> {
  const { coin } = await apiOk<{ coin: { usd: string } }>(url, 'GET', `/v1/pricing/sheets/${sheet}`, {})
  return nanosOf(coin.usd)
}

test('requests, links and agents keep their coin when its price changes under load', async () => {
  const [owner, friend] = [await newOwner(stack, { coin: '17.5' }), await newOwner(stack, { coin: '1' })]
  const agent = await post<Json>(owner, '/v1/agents', { slug: 'spender', name: 'spender' })
  assert.equal(agent['slug'], 'spender')
  await post(owner, '/v1/agents/spender/fund', { amount: '2.25' })
  const links = [
    await post<Link>(owner, '/v1/links', { amount: '3' }),
    await post<Link>(owner, '/v1/links', { amount: '4' }),
  ]
  let isOver = false
  const running = Promise.all(Array.from({ length: AT_ONCE }, () => load(owner.apiKey, () => isOver)))
  const receipts = [await ask(owner.apiKey)]
  await publish('2')
  receipts.push(...(await askAt(owner.apiKey, '2')))
  const [first, second] = links
  const claimed = await post<Link>(friend, `/v1/links/${first?.token}/claim`)
  assert.deepEqual([claimed.amount.coin, claimed.amount.usd], ['3', '6'])
  await publish('0.333333333')
  await post(owner, `/v1/links/${second?.id}/cancel`)
  receipts.push(...(await askAt(owner.apiKey, '0.333333333')))
  // At this price, so little coin is worth less than a unit.
  const dust = { token: owner.token, body: { amount: '0.000000003' } }
  assertRefused(await api(url, 'POST', '/v1/links', dust), 400, 'below_minimum', 'amount')
  const fund = await api(url, 'POST', '/v1/agents/spender/fund', dust)
  assertRefused(fund, 400, null, 'amount')
  assert.match(fund.text, /worth less than 0\.000000001 USD; send at least 0\.000000004 coin\./)
  isOver = true
  receipts.push(...(await running).flat())
  await stack.settled()

  const prices = new Map<string, number>()
  for (const { price_sheet: sheet } of receipts) if (!prices.has(sheet)) prices.set(sheet, await priceOf(sheet))
  assert.deepEqual([...prices.values()].sort(), [UNITS_PER_USD, 2 * UNITS_PER_USD, 333_333_333].sort())
  let spent = 0
  for (const { cost, price_sheet: sheet } of receipts) {
    const nanos = coinFor(Number(cost.units), prices.get(sheet) ?? 0)
    assert.equal(nanosOf(cost.coin), nanos)
    spent += nanos
  }
  assert.equal(await coinOf(owner), nanosOf('12.25') - spent)
  assert.equal(await coinOf(friend), nanosOf('4'))
  const shown = await apiOk<Account>(url, 'GET', '/v1/agents/spender', { token: owner.token })
  assert.deepEqual([shown.balance.coin, shown.available.coin], ['2.25', '2.25'])
  await stack.audit()
})
