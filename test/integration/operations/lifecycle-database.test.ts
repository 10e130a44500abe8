import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { assertError, chat, completion } from '../../support/clients/chatClient.ts'
import { type Stack, startStack } from '../../support/stack.ts'
import { until } from '../../support/until.ts'

const KEY_TTL_MS = 200

let stack: Stack
let apiKey: string

before(async () => {
  stack = await startStack({ ownPostgres: true, limits: { keyCacheTtlMs: KEY_TTL_MS, keyRefreshRetryMs: 100 } })
  apiKey = (await stack.createAccount({ args: ['--platform'] })).apiKey
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

test('while PostgreSQL takes no writes, requests that need one get 503, and control goes on by itself afterwards', async () => {
  const operator = new pg.Client(stack.databaseUrl)
  await operator.connect()
  const newKey = async () => {
    const response = await fetch(`${stack.baseUrl}/v1/platform/keys`, {
      method: 'POST',
      headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'one of many' }),
    })
    return { status: response.status, headers: response.headers, text: await response.text() }
  }
  await until('a key is made', async () => (await newKey()).status === 201)
  await operator.query('ALTER DATABASE sluice SET default_transaction_read_only = on')
  await operator.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()')
  await until('a key is refused', async () => {
    const reply = await newKey()
    if (reply.status === 201) return false
    assertError(reply, 503, 'admission_unavailable')
    return /read-only/.test(JSON.stringify(stack.logs()))
  })
  completion(await chat(stack.baseUrl, apiKey, { model: 'test/small' }))
  const ready = await fetch(stack.controlMetricsUrl.replace('/metrics', '/ready'))
  assert.equal(ready.status, 503, await ready.text())
  await operator.query('ALTER DATABASE sluice RESET default_transaction_read_only')
  await operator.end()
  await until('a key is made again', async () => (await newKey()).status === 201)
  await stack.settled()
})
