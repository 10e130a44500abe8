// Goal: what a request makes a provider bill is covered by its hold: sound that a file hides, images beyond the
// long-context threshold, options of any size. What no provider reports is estimated by what was delivered.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { assertError, chat, completion, type Receipt, receiptOf } from '../../support/clients/chatClient.ts'
import { answered, mediaModel, postForm } from '../../support/clients/mediaClient.ts'
import { post } from '../../support/clients/responsesClient.ts'
import { priceOf } from '../../support/reconcile.ts'
import { apeFooter, id3Tag, lyricsEnd, mp3Frames, slowMp3Frames, wavFile } from '../../support/samples/audio.ts'
import { type Stack, startStack } from '../../support/stack.ts'

const DIALECTS = ['openai', 'anthropic'] as const
const WORDS = 200
const IMAGE = { type: 'image_url', image_url: { url: 'https://example.com/a.png' } }
const HELLO = [{ role: 'user', content: 'hello' }]

let stack: Stack
let apiKey: string

before(async () => {
  stack = await startStack({
    catalog: {
      providers: [{ id: 'mock' }, ...DIALECTS.map((dialect) => ({ id: dialect, dialect }))],
      models: [
        mediaModel('test/heard', 'transcription', 'mock,seconds=73'),
        mediaModel('test/unheard', 'transcription', 'mock,usage=none'),
        mediaModel('test/far', 'transcription', 'mock,seconds=400'),
        {
          id: 'test/long',
          upstream: 'mock,chunks=5,prompt=2400',
          price: { input: '1', output: '5', long_context: { threshold: 2_000, input: '10', output: '20' } },
          image_tokens: 1_500,
        },
        { id: 'test/echo', upstream: 'mock,echo' },
        ...DIALECTS.map((dialect) => ({
          id: `${dialect}/tool`,
          endpoints: ['chat', 'messages', 'responses'],
          routes: [{ provider: dialect, model: `mock,tool,usage=none,chunks=${WORDS}` }],
        })),
      ],
    },
  })
  apiKey = (await stack.createAccount({ credits: '100' })).apiKey
})
after(() => stack.finish())

const transcribe = (model: string, file: Buffer) =>
  postForm(`${stack.baseUrl}/v1/audio/transcriptions`, apiKey, { model, file })

const HIDDEN = slowMp3Frames(1_000)
const PLAIN = mp3Frames(20)
const SECONDS = 73
const FILES: [name: string, file: Buffer, unreported: number][] = [
  ['an APEv2 tag', Buffer.concat([PLAIN, HIDDEN, apeFooter(HIDDEN.length)]), SECONDS],
  ['a Lyrics3 tag', Buffer.concat([PLAIN, HIDDEN, lyricsEnd(HIDDEN.length)]), SECONDS],
  ['an ID3 tag, which players skip', Buffer.concat([id3Tag(HIDDEN), PLAIN]), 1],
]
for (const [name, file, unreported] of FILES) {
  test(`audio within ${name} is covered by the hold, and charged as reported`, async () => {
    const { receipt } = answered(await transcribe('test/heard', file))
    assert.equal(receipt.hold.units, String(priceOf('transcription', SECONDS)))
    assert.deepEqual(
      [receipt.cost.units, receipt.usage_source, receipt.clamped],
      [receipt.hold.units, 'reported', false],
    )
    const silent = answered(await transcribe('test/unheard', file)).receipt
    assert.deepEqual([silent.usage.quantity, silent.usage_source], [unreported, 'estimated'])
  })
}

test('reported usage above the measurement is accepted, and charged up to the hold', async () => {
  const file = wavFile(2, { rate: 8_000 })
  const { receipt } = answered(await transcribe('test/far', file))
  assert.deepEqual([receipt.usage.quantity, receipt.usage_source, receipt.clamped], [400, 'reported', true])
  assert.equal(receipt.cost.units, receipt.hold.units)
  assert.equal(receipt.cost.units, String(priceOf('transcription', 2)))
  // No codec makes so much of so few bytes.
  const tiny = answered(await transcribe('test/far', wavFile(0.5, { rate: 8_000 }))).receipt
  assert.deepEqual([tiny.usage.quantity, tiny.usage_source, tiny.clamped], [1, 'estimated', false])
})

test('compressed audio declared as PCM samples is rejected', async () => {
  const head = wavFile(0.1, { rate: 48_000, channels: 2, bits: 16 }).subarray(0, 44)
  assertError(await transcribe('test/heard', Buffer.concat([head, HIDDEN])), 400, 'unsupported_audio', 'file')
})

test('with images, a prompt near the long-context threshold is held at the higher rates', async () => {
  const content = [{ type: 'text', text: 'hello' }, IMAGE]
  const body = { model: 'test/long', max_tokens: 1_000, messages: [{ role: 'user', content }] }
  const { receipt } = completion(await chat(stack.baseUrl, apiKey, body))
  const promptTokens = 5 + 1_500 + 8 + 16
  assert.equal(receipt.hold.units, String(promptTokens * 10_000 + 1_000 * 20_000))
  assert.deepEqual([receipt.cost.units, receipt.clamped], [String(2_400 * 10_000 + 5 * 20_000), false])
  const plain = completion(await chat(stack.baseUrl, apiKey, { ...body, messages: HELLO })).receipt
  assert.equal(plain.hold.units, String((5 + 8 + 16) * 1_000 + 1_000 * 5_000))
})

test('oversized options reach no provider', async () => {
  const before = (await stack.provider.log()).length
  const long = 'x'.repeat(100_000)
  const bias = Object.fromEntries(Array.from({ length: 5_000 }, (_, id) => [id, 1]))
  for (const [name, value] of Object.entries({
    user: long,
    stop: [long],
    seed: [long],
    reasoning_effort: long,
    logit_bias: bias,
    top_p: { long },
  })) {
    const reply = await chat(stack.baseUrl, apiKey, { model: 'test/echo', messages: HELLO, [name]: value })
    assertError(reply, 400, null, name)
  }
  assert.equal((await stack.provider.log()).length, before)
})

for (const dialect of DIALECTS) {
  for (const [path, body] of Object.entries({
    'chat/completions': { messages: HELLO },
    messages: { messages: HELLO, max_tokens: 4_000 },
    responses: { input: 'hello' },
  })) {
    for (const stream of [false, true]) {
      test(`a tool call of ${dialect} without usage at /v1/${path}, ${stream ? 'streamed' : 'whole'}`, async () => {
        const reply = await post(stack.baseUrl, `/v1/${path}`, apiKey, { model: `${dialect}/tool`, stream, ...body })
        assert.equal(reply.status, 200, reply.text)
        const receipt: Receipt = await receiptOf(stack.baseUrl, apiKey, reply.headers.get('x-request-id') ?? '')
        assert.equal(receipt.usage_source, 'estimated')
        const { completion_tokens: tokens } = receipt.usage
        assert.ok(tokens >= WORDS * 0.9 && tokens <= WORDS * 2.1, `${tokens} tokens`)
      })
    }
  }
}
