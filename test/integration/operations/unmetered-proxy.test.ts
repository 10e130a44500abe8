import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'
import { compiled } from '../../../control/launch/paths.ts'
import { readConfig } from '../../../proxy/config.ts'
import { chat, chatStream } from '../../support/clients/chatClient.ts'
import { TEST_BUS_KEY } from '../../support/parts/sealedCalls.ts'
import { startStack } from '../../support/stack.ts'

const UNMETERED = { SLUICE_BENCH_UNMETERED: '1' }
const KEY = { SLUICE_BUS_KEY: TEST_BUS_KEY }

test('production does not start without metering under any other settings', () => {
  const env = { ...process.env, ...UNMETERED, NODE_ENV: 'production' }
  const done = spawnSync(process.execPath, [compiled('proxy/main.js')], { env, encoding: 'utf8', timeout: 30_000 })
  assert.notEqual(done.status, 0)
  assert.match(done.stderr, /SLUICE_BENCH_UNMETERED lets requests run unpaid and is refused with NODE_ENV=production/)
})

test('metering is on unless it is explicitly disabled', () => {
  assert.equal(readConfig(KEY).unmetered, false)
  assert.equal(readConfig({ ...KEY, SLUICE_BENCH_UNMETERED: '' }).unmetered, false)
  assert.equal(readConfig({ ...KEY, ...UNMETERED }).unmetered, true)
  assert.throws(() => readConfig({ ...KEY, SLUICE_BENCH_UNMETERED: 'true' }), /must be 1 or unset, not "true"/)
})

test('without metering, responses are complete except for the receipt, no charge is made, and the log warns', async (t) => {
  const stack = await startStack({
    env: UNMETERED,
    catalog: { models: [{ id: 'test/small', upstream: 'mock,chunks=5' }] },
  })
  t.after(() => stack.stop())
  // Less than any request costs: no hold is taken that it could be too little for.
  const { apiKey } = await stack.createAccount({ credits: '0.000000001' })
  const whole = await chat(stack.baseUrl, apiKey, { model: 'test/small' })
  assert.equal(whole.status, 200, whole.text)
  const answer = JSON.parse(whole.text) as Record<string, unknown>
  assert.equal('receipt' in answer, false)
  assert.equal(whole.headers.get('x-cost-units'), null)
  const streamed = await chatStream(stack.baseUrl, apiKey, { model: 'test/small' })
  assert.equal(streamed.done, true)
  assert.equal(streamed.receipt, null)
  assert.equal((await stack.provider.log()).length, 2)
  // An unknown key is refused as ever.
  assert.equal((await chat(stack.baseUrl, `sk_${'0'.repeat(43)}`, { model: 'test/small' })).status, 401)
  await stack.settled()
  await stack.settled()
  await stack.audit()
  assert.match(stack.logs(), /"level":60.*metering_disabled/)
})
