// Goal: what a provider has run in a batch is delivered and charged once, however it words states, lines and files; what it would
// not run for now is sent once more, and nothing of our account there is shown. Method: a provider with files and batches whose
// answers a test writes, one row a batch.
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, describe, test } from 'node:test'
import { parseJsonObject } from '../../contract/std/jsonObject.ts'
import { BATCH_PRICE, ended, submitted } from '../support/clients/batchClient.ts'
import { type Stack, startStack } from '../support/stack.ts'

const COMPLETION = {
  object: 'chat.completion',
  choices: [{ index: 0, message: { role: 'assistant', content: 'hi' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 10, completion_tokens: 2, total_tokens: 12 },
}
const NO_ROOM = {
  code: 'token_limit_exceeded',
  message: 'Enqueued token limit reached for m in organization SECRET. Limit: 2,000,000 enqueued tokens.',
}
const NO_MONEY = { code: 'billing_hard_limit_reached', message: 'Billing hard limit has been reached SECRET' }
const NOTHING_RUN = { output_file_id: null, request_counts: { total: 1, completed: 0 } }
const failed = (error: object) => ({ status: 'failed', errors: { object: 'list', data: [error] }, ...NOTHING_RUN })
const refused = (status: unknown) => ({ status_code: status, body: { error: { message: 'SECRET who are you' } } })

interface Row {
  readonly title: string
  /** The states of the batch as it is read, the last one for all that follow; of those that are sent again, one after the other. */
  readonly states?: readonly object[]
  /** The response of the line. */
  readonly response?: object
  /** The file with the results, and each time it is read; that of `response` when absent. */
  readonly files?: readonly ((line: string) => string)[]
  readonly outcome: 'done' | 'failed'
  readonly shown?: RegExp
  /** How often the batch is created. */
  readonly created?: number
}

const ROWS: readonly Row[] = [
  ...['COMPLETED', 'finished', 'succeeded'].map(
    (status): Row => ({
      title: `the state ${status}`,
      states: [{ status }],
      outcome: 'done',
    }),
  ),
  ...['201', 201, '200', undefined].map(
    (status): Row => ({
      title: `a line of status ${JSON.stringify(status)}`,
      response: { status_code: status, body: COMPLETION },
      outcome: 'done',
    }),
  ),
  { title: 'a byte order mark', files: [(line) => `\ufeff${line}`], outcome: 'done' },
  { title: 'results that are there later', files: [() => '<html>', () => '', (line) => line], outcome: 'done' },
  {
    title: 'no file for what was answered',
    states: [{ status: 'completed', output_file_id: null }, { status: 'completed' }],
    outcome: 'done',
  },
  {
    title: 'no room for more',
    states: [failed(NO_ROOM), failed(NO_ROOM), { status: 'completed' }],
    outcome: 'done',
    created: 3,
  },
  {
    title: 'no money for the rest',
    states: [{ status: 'failed', errors: { object: 'list', data: [NO_MONEY] } }],
    outcome: 'done',
  },
  { title: 'no money', states: [failed(NO_MONEY), { status: 'completed' }], outcome: 'done', created: 2 },
  {
    title: 'a file that is refused',
    states: [failed({ code: 'invalid_file', message: 'a bad line' })],
    outcome: 'failed',
    shown: /a bad line/,
  },
  ...[401, 403, '401'].map(
    (status): Row => ({
      title: `a line of status ${JSON.stringify(status)}`,
      response: refused(status),
      outcome: 'failed',
    }),
  ),
  {
    title: 'a line of status 400',
    response: { status_code: 400, body: { error: { message: 'no x' } } },
    outcome: 'failed',
    shown: /no x/,
  },
]
const nameOf = (row: Row): string => `row-${ROWS.indexOf(row)}`

interface Upload {
  readonly row: Row
  readonly customId: string
  created: number
  polls: number
  reads: number
}

const uploads = new Map<string, Upload>()
const server = createServer((request, response) => {
  const parts: Buffer[] = []
  request.on('data', (part: Buffer) => parts.push(part))
  request.on('end', () => {
    const answer = answerTo(request.method ?? '', request.url ?? '', Buffer.concat(parts).toString('utf8'))
    response.writeHead(200).end(typeof answer === 'string' ? answer : JSON.stringify(answer))
  })
})

function answerTo(method: string, path: string, body: string): unknown {
  const id = /\/(row-\d+)/.exec(path)?.[1] ?? parseJsonObject(body)?.['input_file_id']
  if (method === 'POST' && path.endsWith('/files')) return uploaded(body)
  const upload = uploads.get(String(id))
  if (upload === undefined) return { data: [], has_more: false }
  if (method === 'POST') {
    upload.created++
    return { id, status: 'validating' }
  }
  if (path.endsWith('/content')) return contentOf(upload)
  if (method === 'DELETE') return { id, deleted: true }
  const { states = [{ status: 'completed' }], created = 1 } = upload.row
  // Each state that a batch fails with is that of another batch.
  const place = created > 1 ? upload.created - 1 : upload.polls++
  const state = states[Math.min(place, states.length - 1)]
  return { id, output_file_id: id, request_counts: { total: 1, completed: 1 }, ...state }
}

function uploaded(body: string): object {
  const [, line = ''] = /(\{"custom_id".*\})/.exec(body) ?? []
  const { custom_id: customId, body: asked } = parseJsonObject(line) ?? {}
  const id = String((asked as { model: string }).model)
  const row = ROWS.find((one) => nameOf(one) === id) ?? assert.fail(id)
  uploads.set(id, { row, customId: String(customId), created: 0, polls: 0, reads: 0 })
  return { id }
}

function contentOf(upload: Upload): string {
  const { response = { status_code: 200, body: COMPLETION }, files = [(line: string) => line] } = upload.row
  const line = JSON.stringify({ custom_id: upload.customId, response, error: null })
  const file = files[Math.min(upload.reads++, files.length - 1)]
  return file?.(line) ?? ''
}

let stack: Stack
let apiKey: string

before(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
  stack = await startStack({
    limits: { batchGatherMs: 1, batchTickMs: 20, batchPollMs: 20, batchRetryMs: 20, batchRetryMaxMs: 50 },
    catalog: {
      providers: [{ id: 'scripted', base_url: baseUrl, batch: true }],
      models: ROWS.map((row) => ({
        id: `test/${nameOf(row)}`,
        price: BATCH_PRICE,
        routes: [{ provider: 'scripted', model: nameOf(row) }],
      })),
    },
  })
  apiKey = (await stack.createAccount({ credits: '100' })).apiKey
})

after(async () => {
  await stack.finish()
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
})

describe('the files and batches of a provider', { concurrency: true }, () => {
  for (const row of ROWS) {
    const { title, outcome, shown, created = 1 } = row
    test(`${title}: ${outcome}`, async () => {
      const job = await ended(
        stack,
        apiKey,
        await submitted(stack, apiKey, { model: `test/${nameOf(row)}`, max_tokens: 10 }),
      )
      assert.equal(job.status, outcome, JSON.stringify(job.error))
      assert.equal(job.receipt?.usage.prompt_tokens, outcome === 'done' ? 10 : 0)
      assert.equal(Number(job.receipt?.cost.units) > 0, outcome === 'done')
      if (shown !== undefined) assert.match(job.error?.message ?? '', shown)
      assert.doesNotMatch(JSON.stringify(job), /SECRET/)
      assert.equal(uploads.get(nameOf(row))?.created, created)
    })
  }
})
