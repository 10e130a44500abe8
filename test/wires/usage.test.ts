// Goal: an answer is charged by the usage that its provider reports, wherever and in whatever spelling it does. Method: a
// table of reports as public bug reports show them, sent by a scripted provider in one piece and as a stream to clients of
// all three formats; the receipt has to state what the provider bills, and the book is audited.
import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { after, before, test } from 'node:test'
import { BATCH_PRICE, ended, submitted } from '../support/clients/batchClient.ts'
import { postTo, type Receipt, takeApart } from '../support/clients/chatClient.ts'
import { beginEvents, event, type Play, ScriptedProvider } from '../support/providers/scriptedProvider.ts'
import { type Stack, startStack } from '../support/stack.ts'
import { countsOf, dueUnits, PRICE } from './usageCounts.ts'
import { ROWS as REPORTS, type Report, type Row } from './usageRows.ts'
import { SPELLINGS } from './usageSpellings.ts'
import { SUM_ROWS } from './usageSumRows.ts'

const SAID = 'Hello to you.'
const ROWS: readonly Row[] = [...REPORTS, ...SPELLINGS, ...SUM_ROWS]

/** The place of a report in a chunk or an answer of the OpenAI dialect. */
function placed(choice: Report, report: Report, place: Row['place']): Report {
  if (place === 'choice') return { choices: [{ ...choice, usage: report }] }
  if (place === 'last choice') return { choices: [choice, { ...choice, index: 1, usage: report }] }
  if (place === 'delta') return { choices: [inDelta(choice, report)] }
  if (place === 'x_groq') return { choices: [choice], x_groq: { id: 'req_0', usage: report } }
  if (place === 'x_groq beside null') return { choices: [choice], usage: null, x_groq: { usage: report } }
  return { choices: [choice], usage: report }
}

function inDelta(choice: Report, usage: Report): Report {
  const name = 'message' in choice ? 'message' : 'delta'
  return { ...choice, [name]: { ...(choice[name] as Report), usage } }
}

function openaiStream(response: ServerResponse, { reports, place }: Row): void {
  const chunk = { id: 'up', object: 'chat.completion.chunk', created: 1, model: 'm' }
  beginEvents(response)
  event(response, {
    ...chunk,
    choices: [{ index: 0, delta: { role: 'assistant', content: SAID }, finish_reason: null }],
  })
  const last = reports.length - 1
  for (const [at, report] of reports.entries()) {
    const choice = { index: 0, delta: {}, finish_reason: at === last ? 'stop' : null }
    event(response, { ...chunk, ...placed(choice, report, place) })
  }
  response.end('data: [DONE]\n\n')
}

function openaiAnswer(response: ServerResponse, { reports, place }: Row): void {
  const choice = { index: 0, message: { role: 'assistant', content: SAID }, finish_reason: 'stop' }
  const body = { id: 'up', object: 'chat.completion', model: 'm', ...placed(choice, reports.at(-1) ?? {}, place) }
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

function anthropicStream(response: ServerResponse, { reports }: Row): void {
  const [start = {}, end = {}] = reports
  const message = { id: 'm', type: 'message', role: 'assistant', model: 'm', content: [], usage: start }
  beginEvents(response)
  event(response, { type: 'message_start', message })
  event(response, { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } })
  event(response, { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: SAID } })
  event(response, { type: 'content_block_stop', index: 0 })
  event(response, { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: end })
  event(response, { type: 'message_stop' })
  response.end()
}

function anthropicAnswer(response: ServerResponse, { reports }: Row): void {
  const usage: Report = Object.assign({}, ...reports) as Report
  const message = { id: 'm', type: 'message', role: 'assistant', model: 'm', content: [{ type: 'text', text: SAID }] }
  const body = { ...message, stop_reason: 'end_turn', usage }
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

function playOf(row: Row): Play {
  return (response, { stream }) => {
    if (row.dialect === 'anthropic') (stream === true ? anthropicStream : anthropicAnswer)(response, row)
    else (stream === true ? openaiStream : openaiAnswer)(response, row)
  }
}

const modelOf = (row: Row): string => row.name.replaceAll(/[^a-z0-9]+/g, '-')

const providerOf = ({ dialect, fromTotal }: Row): string =>
  dialect === 'anthropic' ? 'claude' : fromTotal === true ? 'totals' : 'scripted'

let stack: Stack
let provider: ScriptedProvider
let apiKey: string

before(async () => {
  provider = await ScriptedProvider.start(Object.fromEntries(ROWS.map((row) => [modelOf(row), playOf(row)])))
  stack = await startStack({
    catalog: {
      providers: [
        { id: 'scripted', base_url: provider.url },
        { id: 'claude', base_url: provider.url, dialect: 'anthropic' },
        { id: 'totals', base_url: provider.url, output_from: 'total' },
      ],
      models: ROWS.map((row) => ({
        id: `test/${modelOf(row)}`,
        endpoints: ['chat', 'messages', 'responses'],
        price: {
          ...PRICE,
          ...(row.dialect === undefined && { batch_input: BATCH_PRICE.batch_input, batch_output: '2.5' }),
        },
        routes: [{ provider: providerOf(row), model: modelOf(row) }],
      })),
    },
    limits: { batchTickMs: 50, batchCallPaceMs: 10 },
  })
  apiKey = (await stack.createAccount({ credits: '100' })).apiKey
})
after(async () => {
  await provider?.stop()
  await stack?.finish()
})

const HELLO = [{ role: 'user', content: 'hello '.repeat(20_000) }]
const ENDPOINTS = [
  ['/v1/chat/completions', { messages: HELLO, max_tokens: 8_000 }],
  ['/v1/messages', { messages: HELLO, max_tokens: 8_000 }],
  ['/v1/responses', { input: HELLO[0]?.content, max_output_tokens: 8_000 }],
] as const

for (const row of ROWS) {
  for (const [path, fields] of ENDPOINTS) {
    for (const stream of [false, true]) {
      test(`${row.name}: ${path}, ${stream ? 'streamed' : 'in one piece'}`, async () => {
        const body = JSON.stringify({ model: `test/${modelOf(row)}`, stream, ...fields })
        const reply = await postTo(stack.baseUrl + path, apiKey, body)
        assert.equal(reply.status, 200, reply.text)
        const receipt = stream ? commentOf(reply.text) : (JSON.parse(reply.text) as { receipt: Receipt }).receipt
        const due = (stream ? undefined : row.whole) ?? row.due
        const counts = countsOf(receipt)
        assert.deepEqual(
          counts.map((count, at) => (due[at] === null ? null : count)),
          due,
        )
        if (due.includes(null)) assert.ok(counts[0] > 0 && counts[4] > 0, reply.text)
        assert.equal(receipt.usage_source, due.includes(null) ? 'estimated' : 'reported')
        assert.deepEqual([receipt.cost.units, receipt.clamped], [String(dueUnits(counts)), false])
      })
    }
  }
}

function commentOf(text: string): Receipt {
  const line = text.split('\n').find((one) => one.startsWith(': receipt ')) ?? assert.fail(text)
  return JSON.parse(line.slice(': receipt '.length)) as Receipt
}

const BATCHED = [
  'reasoning beside the output',
  'usage in the choice',
  'no prompt',
  'a total above all counts',
  'thinking that is in the total alone',
]

for (const row of ROWS.filter(({ name }) => BATCHED.includes(name))) {
  test(`${row.name}: a batch job`, async () => {
    const model = `test/${modelOf(row)}`
    const job = await ended(
      stack,
      apiKey,
      await submitted(stack, apiKey, { model, messages: HELLO, max_tokens: 8_000 }),
    )
    assert.equal(job.status, 'done')
    const { receipt } = job
    assert.ok(receipt !== null)
    const counts = countsOf(receipt)
    assert.deepEqual(
      counts.map((count, at) => (row.due[at] === null ? null : count)),
      row.due,
    )
    assert.equal(receipt.usage_source, row.due.includes(null) ? 'estimated' : 'reported')
    assert.ok(counts[0] > 0)
  })
}

test('contradictions are counted by provider, and logged once for each', async () => {
  const metrics = await (await fetch(stack.metricsUrl)).text()
  const counted = /^sluice_usage_contradictions_total\{provider="scripted"\} (\d+)$/m.exec(metrics)
  assert.ok(Number(counted?.[1]) >= 12, metrics)
  const lines = stack.logs().split('\n')
  assert.equal(
    lines.filter(
      (line) => line.includes('usage_contradicted') && line.includes('"scripted"') && !line.includes('batch_'),
    ).length,
    1,
  )
  assert.equal(lines.filter((line) => line.includes('batch_usage_contradicted')).length, 1)
  const ofBatches = await (await fetch(stack.controlMetricsUrl)).text()
  assert.match(ofBatches, /^sluice_control_batch_usage_contradictions_total\{provider="scripted"\} 1$/m)
})

test('an estimate exceeds neither max_tokens nor, by it, the charge that is due', async () => {
  const body = {
    model: 'test/a-prompt-alone',
    stream: true,
    messages: [{ role: 'user', content: 'hi' }],
    max_tokens: 2,
  }
  const reply = takeApart(await postTo(`${stack.baseUrl}/v1/chat/completions`, apiKey, JSON.stringify(body)))
  assert.equal(reply.receipt?.usage.completion_tokens, 2)
})
