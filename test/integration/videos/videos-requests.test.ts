import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { assertError } from '../../support/clients/chatClient.ts'
import { generate, newVideo, providerVideos, videoIn, videoModel } from '../../support/clients/videoClient.ts'
import { dataUrl, jpegHead, pngHead } from '../../support/samples/pictures.ts'
import { type Stack, startStack, type TestAccount } from '../../support/stack.ts'

const PNG = dataUrl('png', pngHead(640, 360))
const ALL = {
  seconds: [4, 8],
  image: 'optional',
  aspect_ratios: ['16:9', '9:16'],
  resolution: '720p',
  negative_prompt: 20,
  prompt: 30,
}

let stack: Stack
let account: TestAccount

before(async () => {
  stack = await startStack({
    limits: { videoPollMinMs: 50, videoPollMaxMs: 200, videoImageBytesMax: 2_048, videoImageSideMax: 2_000 },
    catalog: {
      models: [
        { id: 'test/small' },
        { id: 'test/attested', attested: true, modality: 'video', endpoints: ['videos'], ...priced() },
        { id: 'test/unverified', verified: false, modality: 'video', endpoints: ['videos'], ...priced() },
        { id: 'test/off', modality: 'video', endpoints: ['videos'], ...priced(), routes: off() },
        videoModel('test/plain', 'mock'),
        videoModel('test/all', 'mock,make=1', { video: ALL }),
        videoModel('test/framed', 'mock', { video: { seconds: [4], image: 'required' } }),
        videoModel('test/sized', 'mock', {
          video: { seconds: [4], aspect_ratios: ['16:9', '9:16'], sizes: { '16:9': '1280x720', '9:16': '720x1280' } },
        }),
      ],
    },
  })
  account = await stack.createAccount({ credits: '100' })
})

after(() => stack.finish())

function priced() {
  return { price: { second: '0.1' }, video: { seconds: [4] } }
}

function off() {
  return [{ provider: 'mock', model: 'mock', enabled: false }]
}

const CASES: readonly [
  what: string,
  body: Record<string, unknown>,
  status: number,
  code: string | null,
  param?: string,
][] = [
  ['no model', { model: null }, 400, null, 'model'],
  ['an unknown model', { model: 'test/nothing' }, 404, 'model_not_found', 'model'],
  ['a chat model', { model: 'test/small' }, 400, 'wrong_endpoint', 'model'],
  ['an attested model', { model: 'test/attested' }, 400, 'endpoint_not_supported', 'model'],
  ['an unverified model', { model: 'test/unverified' }, 503, 'model_unverified'],
  ['a model that is off', { model: 'test/off' }, 503, 'model_unavailable'],
  ['a batch', { model: 'test/plain:batch' }, 400, 'batch_unavailable'],
  ['no prompt', { prompt: null }, 400, null, 'prompt'],
  ['an empty prompt', { prompt: '' }, 400, null, 'prompt'],
  ['a prompt that is no text', { prompt: ['a'] }, 400, null, 'prompt'],
  ['a long prompt', { model: 'test/all', prompt: 'x'.repeat(31) }, 400, 'prompt_too_long', 'prompt'],
  ['size', { size: '1280x720' }, 400, 'size_unsupported', 'size'],
  ['max_price', { provider: { max_price: { prompt: 1 } } }, 400, 'max_price_unsupported', 'provider.max_price'],
  ['an empty max_price', { provider: { max_price: {} } }, 400, 'max_price_unsupported', 'provider.max_price'],
  ['a length that is not sold', { seconds: 5 }, 400, 'invalid_seconds', 'seconds'],
  ['a fraction of a second', { seconds: 4.5 }, 400, 'invalid_seconds', 'seconds'],
  ['zero seconds', { seconds: 0 }, 400, 'invalid_seconds', 'seconds'],
  ['seconds that are no number', { seconds: '4s' }, 400, 'invalid_seconds', 'seconds'],
  ['seconds in a list', { seconds: [4] }, 400, 'invalid_seconds', 'seconds'],
  ['an image for a model of text', { image: PNG }, 400, 'image_unsupported', 'image'],
  ['no image where one is needed', { model: 'test/framed' }, 400, 'image_required', 'image'],
  ['an image that is none', { model: 'test/framed', image: 'x' }, 400, 'invalid_image', 'image'],
  [
    'a large image',
    { model: 'test/all', image: dataUrl('png', pngHead(9, 9, 2_048)) },
    400,
    'image_too_large',
    'image',
  ],
  ['a wide image', { model: 'test/all', image: dataUrl('png', pngHead(2_001, 9)) }, 400, 'image_too_large', 'image'],
  ['an aspect ratio', { aspect_ratio: '16:9' }, 400, 'aspect_ratio_unsupported', 'aspect_ratio'],
  ['another aspect ratio', { model: 'test/all', aspect_ratio: '1:1' }, 400, 'aspect_ratio_unsupported', 'aspect_ratio'],
  ['a negative prompt', { negative_prompt: 'x' }, 400, 'negative_prompt_unsupported', 'negative_prompt'],
  [
    'a long negative prompt',
    { model: 'test/all', negative_prompt: 'x'.repeat(21) },
    400,
    'negative_prompt_too_long',
    'negative_prompt',
  ],
  ['a resolution', { resolution: '720p' }, 400, 'unsupported_resolution', 'resolution'],
  ['another resolution', { model: 'test/all', resolution: '1080p' }, 400, 'unsupported_resolution', 'resolution'],
]

for (const [what, body, status, code, param] of CASES) {
  test(`rejected: ${what}`, async () => {
    const reply = await generate(stack.baseUrl, account.apiKey, { model: 'test/plain', ...body })
    assertError(reply, status, code, param)
  })
}

test('a rejected request leaves no hold, no job and no used slot', async () => {
  assert.equal((await providerVideos(stack)).length, 0)
  await stack.withRedis(async (redis) => {
    assert.deepEqual(await redis.keys('holds:*'), [])
    assert.deepEqual(await redis.keys('video*'), [])
  })
  const receipts = await fetch(`${stack.baseUrl}/v1/receipts`, {
    headers: { authorization: `Bearer ${account.apiKey}` },
  })
  assert.deepEqual(((await receipts.json()) as { data: unknown[] }).data, [])
})

test('a body that is not a JSON object, a missing key, a paused key', async () => {
  const send = (body: string, apiKey: string) =>
    fetch(`${stack.baseUrl}/v1/videos/generations`, {
      method: 'POST',
      headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
      body,
    })
  assert.equal((await send('[]', account.apiKey)).status, 400)
  assert.equal((await send('{"model":', account.apiKey)).status, 400)
  assertError(await generate(stack.baseUrl, '', { model: 'test/plain' }), 401, 'invalid_api_key')
  assertError(await generate(stack.baseUrl, `sk_${'a'.repeat(43)}`, { model: 'test/plain' }), 401, 'invalid_api_key')
  const { json } = await stack.cli('account', 'create', '--credits', '5')
  const { key_id: keyId, api_key: paused } = json as { key_id: string; api_key: string }
  await stack.cli('key', 'pause', keyId)
  assertError(await generate(stack.baseUrl, paused, { model: 'test/plain' }), 403, 'key_paused')
})

test('a key that may not use the model is rejected', async () => {
  const { apiKey, accountId } = await stack.createAccount()
  const { json } = await stack.cli('key', 'create', accountId, '--model', 'test/small')
  assertError(
    await generate(stack.baseUrl, (json as { api_key: string }).api_key, { model: 'test/plain' }),
    403,
    'model_not_allowed',
  )
  await newVideo(stack.baseUrl, apiKey, { model: 'test/plain' })
})

test('all settings of a model are forwarded to the provider', async () => {
  const taken = await newVideo(stack.baseUrl, account.apiKey, {
    model: 'test/all',
    // Characters, not the places that they take in a JavaScript string.
    prompt: '\u{1F408}'.repeat(30),
    seconds: '8',
    image: dataUrl('jpeg', jpegHead(640, 360)),
    aspect_ratio: '9:16',
    negative_prompt: 'x'.repeat(20),
    resolution: '720P',
  })
  await videoIn(stack.baseUrl, account.apiKey, taken.id, ['completed'])
  const made = (await providerVideos(stack)).find((job) => job.request_id === taken.request_id)
  assert.deepEqual(made?.body, {
    model: 'mock,make=1',
    prompt: '\u{1F408}'.repeat(30),
    seconds: '8',
    aspect_ratio: '9:16',
    resolution: '720p',
    negative_prompt: 'x'.repeat(20),
  })
  assert.ok((made?.image_characters ?? 0) > 40)
})

test('a provider that expects sizes gets the size of the aspect ratio', async () => {
  for (const [body, size] of [
    [{}, '1280x720'],
    [{ aspect_ratio: '9:16' }, '720x1280'],
  ] as const) {
    const taken = await newVideo(stack.baseUrl, account.apiKey, { model: 'test/sized', ...body })
    await videoIn(stack.baseUrl, account.apiKey, taken.id, ['completed'])
    const made = (await providerVideos(stack)).find((job) => job.request_id === taken.request_id)
    assert.deepEqual(made?.body, { model: 'mock', prompt: 'a cat', seconds: '4', size })
  }
})
