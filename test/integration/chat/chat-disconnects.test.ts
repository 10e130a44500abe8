import assert from 'node:assert/strict'
import { request } from 'node:http'
import { after, before, test } from 'node:test'
import { receiptOf } from '../../support/clients/chatClient.ts'
import { postOpen } from '../../support/clients/socketClient.ts'
import { itemOf } from '../../support/present.ts'
import { assertReconciled } from '../../support/reconcile.ts'
import { residentBytes } from '../../support/residentBytes.ts'
import { type Stack, startStack, until } from '../../support/stack.ts'

/** About 16 MB. */
const FLOOD_CHUNKS = 128_000

let stack: Stack
let apiKey: string

before(async () => {
  stack = await startStack({
    catalog: {
      models: [
        { id: 'test/slow', upstream: 'mock,chunks=5000,delay=20,prompt=11' },
        {
          id: 'test/flood',
          upstream: `mock,chunks=${FLOOD_CHUNKS}`,
          context: 2 * FLOOD_CHUNKS,
          max_output: FLOOD_CHUNKS,
          default_output: FLOOD_CHUNKS,
        },
      ],
    },
  })
  apiKey = (await stack.createAccount({ credits: '100' })).apiKey
})
after(() => stack.finish())

test('a client that disconnects stops the provider and is charged for the output so far', async () => {
  let requestId = ''
  const body = { model: 'test/slow', stream: true, messages: [{ role: 'user', content: 'hello' }] }
  await new Promise<void>((resolve) => {
    const call = postOpen(`${stack.baseUrl}/v1/chat/completions`, apiKey, body, (text) => {
      const frames = text.split('"content":" tok').length - 1
      if (frames < 5) return
      requestId = /"id":"(req_[^"]+)"/.exec(text)?.[1] ?? ''
      call.destroy()
      resolve()
    })
  })
  await until('the provider notices', async () =>
    (await stack.provider.log()).some((line) => line.request_id === requestId),
  )
  const line = (await stack.provider.log()).find((served) => served.request_id === requestId)
  assert.equal(line?.outcome, 'client_gone')
  assert.ok(line.frames_sent < 4_000, `the provider went on for ${line.frames_sent} frames`)
  const receipt = await receiptOf(stack.baseUrl, apiKey, requestId)
  assert.equal(receipt.status, 'partial')
  assert.ok(receipt.usage.completion_tokens >= 5 && receipt.usage.completion_tokens <= line.frames_sent)
})

test('a client that disconnects from a buffered response is charged the usage that the provider billed', async () => {
  const before = (await stack.provider.log()).length
  await stack.provider.hold()
  const call = request(`${stack.baseUrl}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}` },
  })
  call.on('error', () => undefined)
  call.end(JSON.stringify({ model: 'test/slow', max_tokens: 10, messages: [{ role: 'user', content: 'x' }] }))
  await stack.provider.leaveHeld(call)
  await until('the provider has answered', async () => (await stack.provider.log()).length > before)
  const line = itemOf(await stack.provider.log(), before)
  assert.equal(line.outcome, 'complete')
  assertReconciled(await receiptOf(stack.baseUrl, apiKey, line.request_id ?? ''), [line])
})

test('a reader that pauses stops the provider, with bounded memory', async () => {
  const streams = 40
  const before = await residentBytes(stack)
  const calls = Array.from({ length: streams }, () => {
    const call = request(`${stack.baseUrl}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    })
    call.on('response', (response) => response.pause())
    call.on('error', () => undefined)
    call.end(JSON.stringify({ model: 'test/flood', stream: true, messages: [{ role: 'user', content: 'x' }] }))
    return call
  })
  const sent = await stack.provider.untilStalled(streams)
  // What the sockets on the way hold is the system's.
  assert.ok(sent < (streams * FLOOD_CHUNKS) / 2, `${sent} chunks have left the provider`)
  const grown = (await residentBytes(stack)) - before
  // Unread, all streams together are twelve times as much.
  assert.ok(grown < 100e6, `grown by ${grown}`)
  for (const call of calls) call.destroy()
  await until('no run is active', async () => {
    const text = await (await fetch(stack.metricsUrl)).text()
    return /^sluice_active_runs 0$/m.test(text)
  })
})
