// Goal: every request to a model and every refusal has exactly one line in the access log, whose figures are those of its
// receipt; the file can be rotated while requests are served. The private ports are behind a token here.
import assert from 'node:assert/strict'
import { existsSync, readFileSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { chat, chatStream, completion, postTo } from '../../support/clients/chatClient.ts'
import { type Stack, startStack, until } from '../../support/stack.ts'
import { makeTempDir, removeTempDir } from '../../support/tempDir.ts'

const M = 'test/small'
const TOKEN = 'a-token-for-the-scrapes'
const ENDED = 'sluice_requests_ended_total'

type Line = Record<string, unknown>

const dir = makeTempDir('access-log')
const path = join(dir, 'access.jsonl')
let stack: Stack
let apiKey: string
let accountId: string

before(async () => {
  stack = await startStack({
    workers: 2,
    env: { SLUICE_ACCESS_LOG: path, SLUICE_ACCESS_LOG_ADDRESSES: '1', SLUICE_METRICS_TOKEN: TOKEN },
    limits: { accessLogFlushMs: 20, breakerFailures: 100 },
    catalog: {
      models: [
        { id: M },
        { id: 'test/cut', upstream: 'mock,cut=3' },
        { id: 'test/down', upstream: 'mock,error=500' },
        { id: 'test/slow', upstream: 'mock,chunks=2000,delay=20' },
      ],
    },
  })
  ;({ apiKey, accountId } = await stack.createAccount())
})
after(async () => {
  await stack.finish()
  removeTempDir(dir)
})

const linesIn = (file: string): Line[] =>
  (existsSync(file) ? readFileSync(file, 'utf8') : '')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Line)

/** The lines of a request, once there are any. */
async function linesOf(id: string, file = path): Promise<Line[]> {
  await until(`a line of ${id}`, () => linesIn(file).some((line) => line['id'] === id))
  return linesIn(file).filter((line) => line['id'] === id)
}

const idOf = ({ headers }: { readonly headers: Headers }): string => headers.get('x-request-id') ?? assert.fail('no id')

test('a served request has one line with the figures of its receipt', async () => {
  const whole = await chat(stack.baseUrl, apiKey, { model: M })
  const stream = await chatStream(stack.baseUrl, apiKey, { model: M })
  for (const [{ headers }, receipt] of [
    [whole, completion(whole).receipt],
    [stream, stream.receipt ?? assert.fail()],
  ] as const) {
    const [line, ...more] = await linesOf(idOf({ headers }))
    assert.ok(line !== undefined && more.length === 0)
    const { time, keyId, durationMs, admissionMs, firstByteMs, ...rest } = line
    assert.deepEqual(rest, {
      id: receipt.request_id,
      accountId,
      operation: 'chat',
      model: M,
      provider: 'mock',
      providerKey: 'default',
      status: 'ok',
      errorCode: null,
      usage: {
        input: receipt.usage.prompt_tokens,
        output: receipt.usage.completion_tokens,
        cachedInput: 0,
        cacheWrite5m: 0,
        cacheWrite1h: 0,
        reasoning: 0,
      },
      chargedUnits: Number(receipt.cost.units),
      holdUnits: Number(receipt.hold.units),
      streamed: line['streamed'],
      tries: receipt.tries,
      client: '127.0.0.1',
    })
    assert.match(String(keyId), /^key_/)
    assert.ok(Math.abs(Date.parse(String(time)) - Date.now()) < 60_000)
    assert.ok(Number(admissionMs) > 0 && Number(admissionMs) <= Number(durationMs) + 1 && Number(firstByteMs) > 0)
    assert.deepEqual([receipt.tries, receipt.first_token_ms], [1, line['streamed'] === true ? firstByteMs : null])
  }
})

test('requests that fail, are refused or have no sound credential have one line each', async () => {
  const poor = await stack.createAccount({ credits: '0.00000001' })
  const down = await chat(stack.baseUrl, apiKey, { model: 'test/down' })
  const cut = await chatStream(stack.baseUrl, apiKey, { model: 'test/cut' })
  const cases: [{ readonly headers: Headers }, Line][] = [
    [down, { status: 'failed', errorCode: 'upstream_unavailable', provider: '', model: 'test/down' }],
    [cut, { status: 'partial', errorCode: 'stream_interrupted', model: 'test/cut' }],
  ]
  for (const [reply, expected] of cases) {
    const lines = await linesOf(idOf(reply))
    assert.equal(lines.length, 1)
    const shown = Object.fromEntries(Object.keys(expected).map((name) => [name, lines[0]?.[name]]))
    assert.deepEqual(shown, expected)
  }
  const refused: [Promise<{ readonly headers: Headers }>, path: string, httpStatus: number, errorCode: string][] = [
    [chat(stack.baseUrl, poor.apiKey, { model: M }), '/v1/chat/completions', 402, 'insufficient_balance'],
    [chat(stack.baseUrl, 'sk-none', { model: M }), '/v1/chat/completions', 401, 'invalid_api_key'],
    [chat(stack.baseUrl, apiKey, { model: 'test/unknown' }), '/v1/chat/completions', 404, 'model_not_found'],
    [postTo(`${stack.baseUrl}/v1/nothing`, apiKey, '{}'), '/v1/nothing', 404, 'not_found'],
  ]
  for (const [sent, asked, httpStatus, errorCode] of refused) {
    const [line, ...more] = await linesOf(idOf(await sent))
    const { time: _time, id: _id, ...rest } = line ?? {}
    const expected = { status: 'refused', method: 'POST', path: asked, httpStatus, errorCode, client: '127.0.0.1' }
    assert.deepEqual([rest, more], [expected, []])
  }
})

test('a request whose client has left has one line', async () => {
  const controller = new AbortController()
  const response = await fetch(`${stack.baseUrl}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'test/slow', stream: true, messages: [{ role: 'user', content: 'x' }] }),
    signal: controller.signal,
  })
  await response.body?.getReader().read()
  controller.abort()
  const [line, ...more] = await linesOf(idOf(response))
  assert.deepEqual([line?.['status'], line?.['errorCode'], more], ['partial', 'client_gone', []])
})

test('SIGHUP opens a file that was renamed again; no line is lost', async () => {
  const load = async (stop: AbortSignal): Promise<string[]> => {
    const ids: string[] = []
    while (!stop.aborted) ids.push(idOf(await chat(stack.baseUrl, apiKey, { model: M })))
    return ids
  }
  const stop = new AbortController()
  const loads = Array.from({ length: 4 }, () => load(stop.signal))
  const rotated = join(dir, 'access.1.jsonl')
  renameSync(path, rotated)
  process.kill(stack.proxy.pid ?? assert.fail(), 'SIGHUP')
  await until('a new file has lines', () => linesIn(path).length > 10)
  stop.abort()
  const ids = (await Promise.all(loads)).flat()
  await until('each request has a line', () => {
    const seen = [...linesIn(rotated), ...linesIn(path)].map((line) => line['id'])
    return ids.every((id) => seen.filter((one) => one === id).length === 1)
  })
})

test('the private ports want their token for metrics alone', async () => {
  for (const url of [stack.metricsUrl, stack.controlMetricsUrl]) {
    assert.equal((await fetch(url)).status, 401)
    const scraped = await fetch(url, { headers: { authorization: `Bearer ${TOKEN}` } })
    assert.equal(scraped.status, 200)
    const text = await scraped.text()
    if (url === stack.metricsUrl) assert.ok(text.includes(ENDED) && text.includes('sluice_access_log_lines_dropped 0'))
    assert.equal((await fetch(url.replace('/metrics', '/ready'))).status, 200)
  }
})
