import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { assertError, chat, chatStream, completion, type Reply } from '../../support/clients/chatClient.ts'
import { itemOf } from '../../support/present.ts'
import { chargeOf } from '../../support/reconcile.ts'
import { type Stack, startStack, until } from '../../support/stack.ts'

const M = 'test/small'
const SLOW = { id: 'test/slow', upstream: 'mock,chunks=40,delay=25' }

interface Sheet {
  readonly version: string
  readonly rate_lock: { valid_until: string }
  readonly models: { id: string; price: Record<string, string>; available: boolean }[]
}

let stack: Stack
let apiKey: string

before(async () => {
  stack = await startStack({ workers: 2, catalog: { models: [{ id: M }, SLOW] } })
  apiKey = (await stack.createAccount()).apiKey
})

after(() => stack.finish())

async function get(path: string): Promise<Reply> {
  const response = await fetch(stack.baseUrl + path)
  return { status: response.status, headers: response.headers, text: await response.text() }
}

async function sheet(path = '/v1/pricing'): Promise<Sheet> {
  const reply = await get(path)
  assert.equal(reply.status, 200, reply.text)
  return JSON.parse(reply.text) as Sheet
}

function reload(): void {
  assert.ok(stack.control.pid !== undefined)
  process.kill(stack.control.pid, 'SIGHUP')
}

/** Every process has the version when a row of new connections all show it. */
async function inForce(version: string): Promise<void> {
  await until(`price sheet ${version} is in force everywhere`, async () => {
    const sheets = await Promise.all(
      Array.from({ length: 12 }, async () => {
        const response = await fetch(`${stack.baseUrl}/v1/pricing`, { headers: { connection: 'close' } })
        return (await response.json()) as Sheet
      }),
    )
    return sheets.every((shown) => shown.version === version)
  })
}

test('the current price sheet is shown, listed and readable by its version', async () => {
  const current = await sheet()
  assert.equal(current.version, '1')
  const model = current.models.find(({ id }) => id === M)
  assert.deepEqual([model?.price['input'], model?.price['output'], model?.available], ['1', '2', true])
  const days = (Date.parse(current.rate_lock.valid_until) - Date.now()) / 86_400_000
  assert.ok(days > 29.9 && days <= 30)
  const list = JSON.parse((await get('/v1/pricing/sheets')).text) as { data: { version: string }[] }
  assert.deepEqual(
    list.data.map(({ version }) => version),
    ['1'],
  )
  assert.equal((await sheet('/v1/pricing/sheets/1')).version, '1')
  for (const unknown of ['2', '0', '999999999', '9999999999', 'x', '1.0']) {
    assertError(await get(`/v1/pricing/sheets/${unknown}`), 404, 'sheet_not_found')
  }
})

test('a changed catalog reaches the proxies; requests held before are charged by the old prices', async () => {
  await stack.provider.hold()
  const held = chatStream(stack.baseUrl, apiKey, { model: SLOW.id })
  await until('the provider has the request', async () => (await stack.provider.open()) > 0)
  const price = { input: '0.5', output: '1', cached_input: '0.25' }
  stack.writeCatalog({ models: [{ id: M, price }, { ...SLOW, price }, { id: 'test/new' }] })
  reload()
  await inForce('2')
  completion(await chat(stack.baseUrl, apiKey, { model: 'test/new' }))

  await stack.provider.release()
  const { receipt: before } = await held
  assert.equal(before?.status, 'ok')
  const usage = { ...before.usage, total_tokens: 0 }
  assert.equal(before.cost.units, String(chargeOf(usage)))
  assert.equal(Reflect.get(before, 'price_sheet'), '1')
  const { receipt: since } = completion(await chat(stack.baseUrl, apiKey, { model: M }))
  assert.equal(since.cost.units, String(chargeOf({ ...since.usage, total_tokens: 0 }) / 2))
  assert.equal(Reflect.get(since, 'price_sheet'), '2')

  assert.equal(itemOf((await sheet('/v1/pricing/sheets/1')).models, 0).price['input'], '1')
  assert.equal(itemOf((await sheet('/v1/pricing/sheets/2')).models, 0).price['input'], '0.5')
})

test('a price increase within its 30 days is rejected, and the current price stays', async () => {
  stack.writeCatalog({ models: [{ id: M, price: { input: '0.6', output: '1' } }] })
  reload()
  await until('control has refused it', () => stack.logs().includes('catalog_rejected'))
  assert.match(stack.logs(), /test\/small: price\.input may not rise from 0\.5 to 0\.6 USD/)
  const current = await sheet()
  assert.equal(current.version, '2')
  assert.deepEqual(
    current.models.map(({ id }) => id),
    [M, SLOW.id, 'test/new'],
  )
  assertError(await get('/v1/pricing/sheets/3'), 404, 'sheet_not_found')
  const { receipt } = completion(await chat(stack.baseUrl, apiKey, { model: M }))
  assert.equal(Reflect.get(receipt, 'price_sheet'), '2')
})

test('an unreadable catalog changes no price', async () => {
  stack.writeCatalog(() => 'models: [ {')
  const before = stack.logs().split('catalog_rejected').length
  reload()
  await until('control has refused it', () => stack.logs().split('catalog_rejected').length > before)
  assert.equal((await sheet()).version, '2')
  completion(await chat(stack.baseUrl, apiKey, { model: M }))
})

test('a model removed from the catalog is no longer served, and its sheet stays readable', async () => {
  stack.writeCatalog({ models: [{ id: M, price: { input: '0.5', output: '1', cached_input: '0.25' } }] })
  reload()
  await inForce('3')
  assertError(await chat(stack.baseUrl, apiKey, { model: 'test/new' }), 404, 'model_not_found', 'model')
  assert.equal((await sheet('/v1/pricing/sheets/2')).models.length, 3)
})
