// Goal: a receipt can be read from any process of the proxy as soon as it was shown, with its key and without.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { newId } from '../../../contract/wire/ids.ts'
import { api, assertRefused } from '../../support/clients/apiClient.ts'
import { chat, completion } from '../../support/clients/chatClient.ts'
import { type Stack, startStack } from '../../support/stack.ts'

const ROUNDS = 10
/** Longer than a test may take. */
const ASK_MS = 3_600_000

let stack: Stack
before(async () => {
  stack = await startStack({
    workers: 2,
    limits: { receiptAskMs: ASK_MS },
    catalog: { models: [{ id: 'test/small' }] },
  })
})
after(() => stack.finish())

test('a receipt just shown can be read over other connections', async () => {
  const { apiKey } = await stack.createAccount()
  // A connection of its own for each read, so that either process has some.
  const read = async (path: string, headers: Record<string, string>) => {
    const url = `${stack.baseUrl}${path}`
    const reply = await fetch(url, { headers: { connection: 'close', ...headers } })
    const text = await reply.text()
    assert.equal(reply.status, 200, text)
    return JSON.parse(text).request_id
  }
  for (let round = 0; round < ROUNDS; round++) {
    const id = completion(await chat(stack.baseUrl, apiKey, { model: 'test/small' })).receipt?.request_id ?? ''
    const found = await Promise.all([
      read(`/v1/receipts/${id}`, { authorization: `Bearer ${apiKey}` }),
      read(`/x402/v1/receipts/${id}`, {}),
    ])
    assert.deepEqual(found, [id, id])
  }
})

test('a path with more than the id of a receipt is none of a receipt', async () => {
  const { apiKey } = await stack.createAccount()
  const id = completion(await chat(stack.baseUrl, apiKey, { model: 'test/small' })).receipt?.request_id ?? ''
  for (const before of ['', '/x402']) {
    for (const rest of [`none/${id}`, `a/b/${id}`, `/${id}`, `${id}/none`]) {
      const answer = await api(stack.baseUrl, 'GET', `${before}/v1/receipts/${rest}`, { token: apiKey })
      assertRefused(answer, 404, 'receipt_not_found')
    }
  }
})

test('a receipt that does not exist is not found as soon as all processes have denied it', async () => {
  const { apiKey } = await stack.createAccount()
  const refused = await chat(stack.baseUrl, apiKey, { model: 'test/none' })
  for (const id of [refused.headers.get('x-request-id') ?? '', newId('req'), newId('req')]) {
    const answer = await api(stack.baseUrl, 'GET', `/v1/receipts/${id}`, { token: apiKey })
    assertRefused(answer, 404, 'receipt_not_found')
  }
})
