import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { assertError, chat, completion } from '../../support/clients/chatClient.ts'
import { type Stack, startStack } from '../../support/stack.ts'

const KEY_TTL_MS = 200

let stack: Stack
let apiKey: string

before(async () => {
  stack = await startStack({ ownPostgres: true, limits: { keyCacheTtlMs: KEY_TTL_MS, keyRefreshRetryMs: 100 } })
  apiKey = (await stack.createAccount()).apiKey
})
after(() => stack.finish())

test('without PostgreSQL known keys are served, and requests that need the book get 503', async () => {
  const ask = (key: string) => chat(stack.baseUrl, key, { model: 'test/small' })
  completion(await ask(apiKey))
  await stack.postgres?.kill9()
  await sleep(KEY_TTL_MS * 2)
  for (let i = 0; i < 3; i++) completion(await ask(apiKey))
  assertError(await ask(`sk_${'1'.repeat(43)}`), 503, 'policy_unavailable')
  const list = await fetch(`${stack.baseUrl}/v1/receipts`, { headers: { authorization: `Bearer ${apiKey}` } })
  assertError({ status: list.status, headers: list.headers, text: await list.text() }, 503, 'admission_unavailable')
  assert.ok(Number(list.headers.get('retry-after')) >= 1)
  await stack.postgres?.restart()
})
