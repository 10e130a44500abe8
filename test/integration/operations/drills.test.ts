// Goal: the questions of docs/operations/incidents.md have their answer where it says. Method: each state is made on a whole
// installation, and read from the metrics and the command line as its runbook does.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { chat, chatStream, completion } from '../../support/clients/chatClient.ts'
import { type Stack, startStack, until } from '../../support/stack.ts'

const LATE_MS = 1_500

let stack: Stack
let apiKey: string
before(async () => {
  stack = await startStack({
    limits: { breakerFailures: 100 },
    catalog: {
      models: [
        { id: 'test/small' },
        { id: 'test/late', upstream: `mock,slow_headers=${LATE_MS}` },
        { id: 'test/down', upstream: 'mock,error=500' },
      ],
    },
  })
  apiKey = (await stack.createAccount()).apiKey
})
after(() => stack.finish())

/** The sum of the samples whose line begins with a name, and has all of these. */
async function sampled(url: string, name: string, ...has: readonly string[]): Promise<number> {
  const lines = (await (await fetch(url)).text()).split('\n')
  const found = lines.filter((line) => /^[{ ]/.test(line.slice(name.length)) && line.startsWith(name))
  return found
    .filter((line) => has.every((part) => line.includes(part)))
    .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0)
}

test('which model is slow, and is it the gateway or the provider?', async () => {
  for (const model of ['test/small', 'test/late']) await chatStream(stack.baseUrl, apiKey, { model })
  const late = 'gen_ai_request_model="test/late"'
  const first = (suffix: string, ...has: string[]) =>
    sampled(stack.metricsUrl, `gen_ai_server_time_to_first_token_seconds_${suffix}`, ...has)
  assert.equal(await first('count', late), 1)
  assert.equal(await first('bucket', late, 'le="1"'), 0, 'it needed more than a second')
  assert.ok((await first('sum', late)) >= LATE_MS / 1_000)
  const seconds = (name: string) => sampled(stack.metricsUrl, `sluice_model_${name}_seconds_total`, 'model="test/late"')
  assert.ok((await seconds('upstream')) > (await seconds('gateway')))
})

test('which provider fails, and since when?', async () => {
  assert.equal((await chat(stack.baseUrl, apiKey, { model: 'test/down' })).status, 502)
  assert.equal(await sampled(stack.metricsUrl, 'sluice_model_errors_total', 'model="test/down"'), 1)
  const failed = async () => {
    const { json } = await stack.cli('usage', '--by', 'hour,model,outcome')
    const { data } = json as { data: readonly Readonly<Record<string, unknown>>[] }
    return data.find(({ model, outcome }) => model === 'test/down' && outcome !== 'ok')
  }
  await until('it is booked', async () => (await failed()) !== undefined)
  assert.equal((await failed())?.['requests'], 1)
})

test('who owns which shards, and what does a lost control change?', async () => {
  const shards = () => sampled(stack.controlMetricsUrl, 'sluice_control_shards')
  await until('control books all shards', async () => (await shards()) === 64)
  assert.ok((await sampled(stack.controlMetricsUrl, 'sluice_control_postgres_sessions_max')) > 0)
  assert.ok((await sampled(stack.controlMetricsUrl, 'sluice_control_redis_used_bytes')) > 0)
  assert.equal(await sampled(stack.metricsUrl, 'sluice_redis_away'), 0)
  await stack.control.kill9()
  const silent = () => sampled(stack.metricsUrl, 'sluice_control_silent_seconds')
  await until('the proxy says so', async () => (await silent()) > 0)
  completion(await chat(stack.baseUrl, apiKey, { model: 'test/small' }))
  await stack.control.start()
  await until('it answers', async () => (await silent()) === 0)
  await until('control books all shards again', async () => (await shards()) === 64)
})
