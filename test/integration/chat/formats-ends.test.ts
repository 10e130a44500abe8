import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type ErrorBody, type Receipt, receiptOf, takeApart } from '../../support/clients/chatClient.ts'
import { post, readResponseStream } from '../../support/clients/responsesClient.ts'
import { postOpen } from '../../support/clients/socketClient.ts'
import { itemOf, present } from '../../support/present.ts'
import { assertReconciled } from '../../support/reconcile.ts'
import { type Stack, startStack, until } from '../../support/stack.ts'

// How requests of both formats end when somebody leaves in the middle: the client, or the gateway.

const ENDPOINTS = ['completions', 'responses']
const FORMATS = [
  { path: '/v1/responses', body: { input: 'hello' }, piece: /"delta":" tok/g, limit: 'max_output_tokens' },
  { path: '/v1/completions', body: { prompt: 'hello' }, piece: /"text":" tok/g, limit: 'max_tokens' },
] as const

async function withStack(work: (stack: Stack, apiKey: string) => Promise<void>): Promise<void> {
  const stack = await startStack({
    limits: { drainGraceMs: 300 },
    catalog: { models: [{ id: 'test/slow', upstream: 'mock,chunks=5000,delay=20,prompt=11', endpoints: ENDPOINTS }] },
  })
  try {
    await work(stack, (await stack.createAccount({ credits: '100' })).apiKey)
  } finally {
    await stack.finish()
  }
}

test('a client that disconnects is charged for the output so far, or for the response that the provider billed', async () => {
  await withStack(async (stack, apiKey) => {
    for (const { path, body, piece, limit } of FORMATS) {
      let requestId = ''
      await new Promise<void>((resolve) => {
        const call = postOpen(stack.baseUrl + path, apiKey, { model: 'test/slow', ...body, stream: true }, (text) => {
          if ((text.match(piece) ?? []).length < 5) return
          requestId = /"id":"(req_[^"]+)"/.exec(text)?.[1] ?? ''
          call.destroy()
          resolve()
        })
      })
      const lineOf = async () => (await stack.provider.log()).find((line) => line.request_id === requestId)
      await until('the provider notices', async () => (await lineOf()) !== undefined)
      const line = await lineOf()
      assert.equal(line?.outcome, 'client_gone')
      assert.ok(line.frames_sent < 4_000, `the provider went on for ${line.frames_sent} frames`)
      const receipt = await receiptOf(stack.baseUrl, apiKey, requestId)
      assert.equal(receipt.status, 'partial')
      assert.ok(receipt.usage.completion_tokens >= 5 && receipt.usage.completion_tokens <= line.frames_sent)

      const before = (await stack.provider.log()).length
      await stack.provider.hold()
      const asked = { model: 'test/slow', ...body, [limit]: 10 }
      await stack.provider.leaveHeld(postOpen(stack.baseUrl + path, apiKey, asked, () => undefined))
      await until('the provider has answered', async () => (await stack.provider.log()).length > before)
      const answered = itemOf(await stack.provider.log(), before)
      assertReconciled(await receiptOf(stack.baseUrl, apiKey, answered.request_id ?? ''), [answered])
    }
  })
})

test('a gateway shutdown ends running streams with an error event and does not charge them', async () => {
  await withStack(async (stack, apiKey) => {
    const running = FORMATS.map(({ path, body }) =>
      post(stack.baseUrl, path, apiKey, { model: 'test/slow', stream: true, ...body }),
    )
    await until('both are at the provider', async () => (await stack.provider.open()) === FORMATS.length)
    // Output has to have begun: before it, a request is told gateway_restarting.
    await until('both stream', async () => {
      const metrics = await (await fetch(stack.metricsUrl)).text()
      return Number(/^sluice_streams_total (\d+)/m.exec(metrics)?.[1] ?? 0) >= 2
    })
    const ended = stack.proxy.sigterm()
    const [response, completion] = await Promise.all(running)
    await ended
    const { events, types, response: last, receipt } = readResponseStream(present(response))
    assert.deepEqual(types.slice(-2), ['error', 'response.failed'])
    assert.equal(itemOf(events, events.length - 2)['code'], 'stream_cut')
    assert.equal(last.error?.code, 'stream_cut')
    assertCut(receipt)
    const text = takeApart(present(completion))
    const { error } = text.events.at(-1) as unknown as ErrorBody
    assert.equal(error.code, 'stream_cut')
    assertCut(text.receipt)
    await stack.proxy.start()
    await stack.ready()
  })
})

function assertCut(receipt: Receipt | null): void {
  assert.deepEqual([receipt?.status, receipt?.cost.units, receipt?.error], ['cut', '0', 'stream_cut'])
}
