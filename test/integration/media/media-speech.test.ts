// Goal: speech goes through as it comes, however slowly it is read; whoever breaks off, the text that the provider took
// is paid once, and nobody takes half of it for the whole.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { after, before, test } from 'node:test'
import { receiptOf } from '../../support/clients/chatClient.ts'
import { mediaModel, postJson } from '../../support/clients/mediaClient.ts'
import { present } from '../../support/present.ts'
import { assertCounted, type CountedReceipt, priceOf, servedFor } from '../../support/reconcile.ts'
import { residentBytes } from '../../support/residentBytes.ts'
import { type Stack, startStack, until } from '../../support/stack.ts'

const TEXT = 'x'.repeat(100)
const DUE = String(priceOf('speech', 100))
const FLOOD_BYTES = 64_000_000

let stack: Stack
let apiKey: string

before(async () => {
  stack = await startStack({
    // A provider that a busy machine lets stand still for a few seconds is not idle.
    limits: { idleTimeoutMs: 8_000 },
    catalog: {
      models: [
        mediaModel('test/slow', 'speech', 'mock,chunks=100,delay=20'),
        mediaModel('test/long', 'speech', 'mock,chunks=5000,delay=20'),
        mediaModel('test/late', 'speech', 'mock,slow_headers=400'),
        mediaModel('test/flood', 'speech', 'mock,chunks=1000,bytes=64000'),
        mediaModel('test/cut', 'speech', 'mock,chunks=10,cut=4'),
        mediaModel('test/hang', 'speech', 'mock,chunks=10,hang=4'),
        mediaModel('test/empty', 'speech', 'mock,chunks=0'),
        mediaModel('test/second', 'speech', 'mock', {
          routes: [
            { provider: 'mock', model: 'mock,error=500' },
            { provider: 'mock', model: 'mock,html200' },
            { provider: 'mock', model: 'mock,chunks=3' },
          ],
        }),
      ],
    },
  })
  apiKey = (await stack.createAccount({ credits: '100' })).apiKey
})
after(() => stack.finish())

/** Asks for speech and waits for the head of the answer. */
async function speak(model: string) {
  const call = request(`${stack.baseUrl}/v1/audio/speech`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
  })
  call.on('error', () => undefined)
  call.end(JSON.stringify({ model, input: TEXT }))
  const [response] = (await once(call, 'response')) as [IncomingMessage]
  return { call, response, id: String(response.headers['x-request-id']) }
}

/** Reads an answer to its end. @returns its bytes, and whether the connection broke */
async function readAll(response: IncomingMessage): Promise<{ bytes: Buffer; broken: boolean }> {
  const parts: Buffer[] = []
  try {
    for await (const part of response) parts.push(part as Buffer)
    return { bytes: Buffer.concat(parts), broken: false }
  } catch {
    return { bytes: Buffer.concat(parts), broken: true }
  }
}

async function receiptFor(id: string): Promise<CountedReceipt> {
  await until('the request has ended', async () => {
    const text = await (await fetch(stack.metricsUrl)).text()
    return /^sluice_active_runs 0$/m.test(text)
  })
  return (await receiptOf(stack.baseUrl, apiKey, id)) as CountedReceipt
}

test('the first bytes arrive long before the last, and all of them are correct', async () => {
  // The first piece comes at once, the second when the test says so.
  await stack.provider.hold()
  const { response, id } = await speak('test/slow')
  await once(response, 'readable')
  await stack.provider.release()
  assert.deepEqual(
    [response.statusCode, response.headers['content-type'], response.headers['x-cost-units']],
    [200, 'audio/mpeg', DUE],
  )
  const { bytes, broken } = await readAll(response)
  assert.equal(broken, false)
  const expected = Buffer.concat(Array.from({ length: 100 }, (_, index) => Buffer.alloc(1_000, index)))
  assert.ok(bytes.equals(expected))
  const receipt = await receiptFor(id)
  assert.deepEqual([receipt.status, receipt.cost.units], ['ok', DUE])
  assertCounted(receipt, 'speech', await stack.provider.log())
})

test('a reader that pauses stops the provider with bounded memory, and finally reads the whole response', async () => {
  const before = await residentBytes(stack)
  const answers = await Promise.all(Array.from({ length: 8 }, () => speak('test/flood')))
  await stack.provider.untilStalled(answers.length)
  const grown = (await residentBytes(stack)) - before
  // All answers together are five times as much.
  assert.ok(grown < 100e6, `grown by ${grown}`)
  const [first, ...others] = answers
  for (const { call } of others) call.destroy()
  let bytes = 0
  for await (const part of present(first).response) bytes += (part as Buffer).length
  assert.equal(bytes, FLOOD_BYTES)
  for (const { id } of answers) assert.equal((await receiptFor(id)).cost.units, DUE)
})

test('an interrupted provider response breaks the client connection, and the text is charged', async () => {
  for (const model of ['test/cut', 'test/hang']) {
    const { response, id } = await speak(model)
    const { bytes, broken } = await readAll(response)
    assert.deepEqual([bytes.length, broken], [4_000, true])
    const receipt = await receiptFor(id)
    assert.deepEqual([receipt.status, receipt.error, receipt.cost.units], ['partial', 'stream_interrupted', DUE])
    assertCounted(receipt, 'speech', await stack.provider.log())
  }
})

test('a client that disconnects stops the provider, and the text is charged', async () => {
  const { call, response, id } = await speak('test/long')
  await once(response, 'data')
  call.destroy()
  const receipt = await receiptFor(id)
  assert.deepEqual([receipt.status, receipt.error, receipt.cost.units], ['partial', 'client_gone', DUE])
  await until('the provider notices', async () => servedFor(id, await stack.provider.log()).length > 0)
  const [line] = servedFor(id, await stack.provider.log())
  assert.equal(line?.outcome, 'client_gone')
  assert.ok(line?.frames_sent < 4_000, `the provider went on for ${line?.frames_sent} pieces`)
  assertCounted(receipt, 'speech', [present(line)])
})

test('a client that disconnects before the response is charged the amount that the provider billed', async () => {
  const before = (await stack.provider.log()).length
  await stack.provider.hold()
  const call = request(`${stack.baseUrl}/v1/audio/speech`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}` },
  })
  call.on('error', () => undefined)
  call.end(JSON.stringify({ model: 'test/late', input: TEXT }))
  await stack.provider.leaveHeld(call)
  await until('the provider has answered', async () => (await stack.provider.log()).length > before)
  const [line] = (await stack.provider.log()).slice(before)
  const receipt = await receiptFor(line?.request_id ?? '')
  assert.deepEqual([receipt.status, receipt.error, receipt.cost.units], ['partial', 'client_gone', DUE])
  assertCounted(receipt, 'speech', [present(line)])
})

test('before the first byte a failure fails over', async () => {
  const { response, id } = await speak('test/second')
  const { bytes, broken } = await readAll(response)
  assert.deepEqual([bytes.length, broken], [3_000, false])
  assert.equal((await receiptFor(id)).status, 'ok')
  const outcomes = servedFor(id, await stack.provider.log()).map((line) => line.outcome)
  assert.deepEqual(outcomes, ['error', 'error', 'complete'])
})

test('a response without a byte is an error', async () => {
  const reply = await postJson(`${stack.baseUrl}/v1/audio/speech`, apiKey, { model: 'test/empty', input: TEXT })
  assert.equal(reply.status, 502)
  assert.equal((await receiptFor(reply.headers.get('x-request-id') ?? '')).cost.units, '0')
})
