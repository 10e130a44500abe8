// Goal: a receipt says how many attempts a request took and when its first token came, the same wherever it is read.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { apiOk } from '../../support/clients/apiClient.ts'
import { chat, chatStream, completion, type Receipt } from '../../support/clients/chatClient.ts'
import { type Stack, startStack } from '../../support/stack.ts'

const TTFT_MS = 150
const FAILS = { provider: 'mock', model: 'mock,error=500' }
const SERVES = { provider: 'mock', model: `mock,ttft=${TTFT_MS}` }

let stack: Stack
let apiKey: string

before(async () => {
  stack = await startStack({
    limits: { breakerFailures: 1_000_000 },
    catalog: {
      models: [
        { id: 'test/small', routes: [SERVES] },
        { id: 'test/retried', routes: [FAILS, SERVES] },
        { id: 'test/down', routes: [FAILS] },
      ],
    },
  })
  ;({ apiKey } = await stack.createAccount())
})
after(() => stack.finish())

const read = <Body>(path: string): Promise<Body> => apiOk<Body>(stack.baseUrl, 'GET', path, { token: apiKey })

/** What a receipt says of how its request went. */
const figuresOf = ({ tries, first_token_ms: firstTokenMs, duration_ms: durationMs }: Receipt) => ({
  tries,
  firstTokenMs,
  durationMs,
})

/** Asserts that every read of the receipt has the figures that the client got. */
async function assertEverywhere(receipt: Receipt): Promise<void> {
  const id = receipt.request_id
  const shown = figuresOf(receipt)
  assert.deepEqual(figuresOf(await read<Receipt>(`/v1/receipts/${id}`)), shown)
  assert.deepEqual(figuresOf((await read<{ receipt: Receipt }>(`/v1/account/requests/${id}`)).receipt), shown)
  const { data } = await read<{ data: Receipt[] }>('/v1/receipts')
  const listed = data.find(({ request_id: other }) => other === id) ?? assert.fail('not in the list')
  assert.deepEqual(figuresOf(listed), shown)
}

test('a stream that a second route served has two tries, and the time until its first token', async () => {
  for (const [model, tries] of [
    ['test/small', 1],
    ['test/retried', 2],
  ] as const) {
    const receipt = (await chatStream(stack.baseUrl, apiKey, { model })).receipt ?? assert.fail('no receipt')
    const { firstTokenMs, durationMs, ...rest } = figuresOf(receipt)
    assert.deepEqual(rest, { tries })
    // The provider sends the head of the stream at once; timers may fire a millisecond early.
    assert.ok(
      Number(firstTokenMs) >= TTFT_MS - 1 && Number(firstTokenMs) <= durationMs,
      `${firstTokenMs} ${durationMs}`,
    )
    await assertEverywhere(receipt)
  }
})

test('an answer in one piece has no first token', async () => {
  const { receipt } = completion(await chat(stack.baseUrl, apiKey, { model: 'test/retried' }))
  assert.deepEqual([receipt.tries, receipt.first_token_ms], [2, null])
  await assertEverywhere(receipt)
})

test('a stream that no provider answered has its tries alone', async () => {
  const { headers, status } = await chat(stack.baseUrl, apiKey, { model: 'test/down', stream: true })
  assert.equal(status, 502)
  const receipt = await read<Receipt>(`/v1/receipts/${headers.get('x-request-id')}`)
  assert.deepEqual([receipt.status, receipt.first_token_ms], ['failed', null])
  assert.ok(Number(receipt.tries) >= 1)
  await assertEverywhere(receipt)
})
