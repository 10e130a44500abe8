// Goal: no provider learns the id of a receipt, which anybody may read, nor which requests to it are of the same customer's one;
// the operator gets from each id to the receipt. Method: every byte that the gateway sends to its providers, for each kind of
// operation, passes a relay that keeps it.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { BATCH_PRICE, type BatchJob, ended, submitted } from '../../support/clients/batchClient.ts'
import { chat, chatStream } from '../../support/clients/chatClient.ts'
import { callTool, searchTool } from '../../support/clients/toolClient.ts'
import { clipOf, newVideo, videoIn, videoModel } from '../../support/clients/videoClient.ts'
import { Relay } from '../../support/relay.ts'
import { type Stack, startStack } from '../../support/stack.ts'

const ID = /\btry_[0-7][0-9A-HJKMNP-TV-Z]{25}\b/g

let stack: Stack
let relay: Relay
let apiKey: string
let sent = ''

before(async () => {
  relay = await Relay.start()
  relay.onBytes = (side, bytes) => {
    if (side === 'client') sent += bytes.toString('latin1')
  }
  const base_url = `http://127.0.0.1:${relay.port}/v1`
  const routes = (model: string, ...providers: string[]) => providers.map((provider) => ({ provider, model }))
  const batch = { price: BATCH_PRICE }
  stack = await startStack({
    limits: { batchGatherMs: 100, batchTickMs: 50, batchPollMs: 100, videoPollMinMs: 50, videoPollMaxMs: 200 },
    catalog: {
      providers: [
        { id: 'first', base_url, batch: true },
        { id: 'second', base_url },
        { id: 'claude', base_url, dialect: 'anthropic' },
      ],
      models: [
        { id: 'test/chat', routes: routes('mock,fail_first=1', 'first', 'second') },
        { id: 'test/claude', routes: routes('chat-small', 'claude') },
        { id: 'test/group', ...batch, routes: routes('chat-small', 'first') },
        { id: 'test/single', ...batch, routes: routes('chat-small', 'second') },
        videoModel('test/video', '', { routes: routes('mock', 'first') }),
      ],
      tools: [{ ...searchTool('web.search'), upstream: { ...searchTool('web.search').upstream, base_url } }],
    },
  })
  relay.targetPort = stack.provider.port()
  apiKey = (await stack.createAccount({ credits: '100' })).apiKey
})
after(async () => {
  await stack.finish()
  await relay.stop()
})

/** What was sent for a request, which is done when this resolves. @returns the attempt ids in it, in their order */
async function idsOf(request: () => Promise<string>): Promise<{ requestId: string; ids: string[] }> {
  sent = ''
  const requestId = await request()
  assert.ok(sent.length > 0, 'the provider was asked')
  assert.ok(!sent.includes(requestId.slice('req_'.length)), `${requestId} was sent to a provider`)
  assert.doesNotMatch(sent, /req_[0-9A-Z]{26}/)
  const ids = [...sent.matchAll(ID)].map(([id]) => id)
  assert.ok(ids.length > 0, 'an id was sent')
  return { requestId, ids }
}

async function batchJob(model: string): Promise<string> {
  const job = await submitted(stack, apiKey, { model })
  const over: BatchJob = await ended(stack, apiKey, job)
  assert.equal(over.status, 'done')
  return job.request_id
}

async function clip(): Promise<string> {
  const job = await newVideo(stack.baseUrl, apiKey, { model: 'test/video' })
  await videoIn(stack.baseUrl, apiKey, job.id, ['completed'])
  await clipOf(stack.baseUrl, apiKey, job.id)
  return job.request_id
}

const operations: Record<string, () => Promise<string>> = {
  'a chat that a second route serves': async () => {
    const reply = await chat(stack.baseUrl, apiKey, { model: 'test/chat' })
    assert.equal(reply.status, 200, reply.text)
    return reply.headers.get('x-request-id') ?? ''
  },
  'a stream': async () =>
    (await chatStream(stack.baseUrl, apiKey, { model: 'test/chat' })).headers.get('x-request-id') ?? '',
  'another dialect': async () =>
    (await chat(stack.baseUrl, apiKey, { model: 'test/claude' })).headers.get('x-request-id') ?? '',
  'a tool': async () =>
    (
      await callTool(stack.baseUrl, apiKey, 'web.search', { query: 'cats', provider: { allow_retention: true } })
    ).headers.get('x-request-id') ?? '',
  'a video and its clip': clip,
  'a batch job in a file': () => batchJob('test/group'),
  'a batch job by itself': () => batchJob('test/single'),
}

for (const [name, operation] of Object.entries(operations)) {
  test(`${name} shows providers no request id, and the command line reads what it shows`, async () => {
    const { requestId, ids } = await idsOf(operation)
    await stack.settled()
    const read = await stack.cli('receipts', 'attempt', ids[0] ?? '')
    assert.equal(read.code, 0, read.stderr)
    assert.equal((read.json as { request_id: string }).request_id, requestId)
  })
}

test('two attempts of one request have different ids', async () => {
  await fetch(new URL('/_reset', stack.provider.url()), { method: 'POST' })
  const { ids } = await idsOf(operations['a chat that a second route serves'] ?? assert.fail)
  assert.equal(new Set(ids).size, ids.length)
})

test('the command line says why an id is not read', async () => {
  const { code, stderr } = await stack.cli('receipts', 'attempt', `try_${'0'.repeat(26)}`)
  assert.equal(code, 1)
  assert.match(stderr, /there is no receipt of req_/)
  assert.equal((await stack.cli('receipts', 'attempt', 'req_1')).code, 2)
})
