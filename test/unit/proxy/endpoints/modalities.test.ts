// Goal: answers of providers that are odd, wrong or hostile are read for what they are worth, or refused; none of them
// throws, and none is charged more than it says.

import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import fc from 'fast-check'
import { sluice } from '../../../../contract/wire/generated/messages.js'
import { parseCatalog } from '../../../../control/catalog/pricing/catalogFile.ts'
import { encodeRecord } from '../../../../control/catalog/pricing/record.ts'
import { toPrincipal } from '../../../../proxy/access/principal.ts'
import { decodeCatalog } from '../../../../proxy/catalog/catalog.ts'
import { LargeBodies } from '../../../../proxy/endpoints/largeBodies/largeBodies.ts'
import { embeddings } from '../../../../proxy/endpoints/modalities/embeddings.ts'
import { images } from '../../../../proxy/endpoints/modalities/images.ts'
import { membersOf } from '../../../../proxy/endpoints/modalities/members.ts'
import type { BufferedAnswer, BufferedPlan, PlanContext } from '../../../../proxy/endpoints/modalities/operation.ts'
import { rerank } from '../../../../proxy/endpoints/modalities/rerank.ts'
import { transcriptions } from '../../../../proxy/endpoints/modalities/transcriptions.ts'
import { AnswerJson } from '../../../../proxy/json/answerJson.ts'
import { findMembers } from '../../../../proxy/json/findMembers.ts'
import type { RequestHead } from '../../../../proxy/server/exchange.ts'
import { formBody } from '../../../../proxy/upload/formBody.ts'
import { mediaModel } from '../../../support/clients/mediaClient.ts'
import { limits } from '../../../support/limits.ts'
import { memberOf } from '../../../support/present.ts'
import { wavFile } from '../../../support/samples/audio.ts'
import { testCatalog } from '../../../support/testCatalog.ts'

const models = (['embedding', 'image', 'transcription', 'rerank'] as const).map((kind) =>
  mediaModel(`test/${kind}`, kind),
)
const catalog = decodeCatalog(
  encodeRecord(parseCatalog('test', testCatalog('http://127.0.0.1:1/v1', { models })), {
    version: 1,
    publishedAtMs: 0,
    validUntilMs: 0,
    sheetJson: '{}',
    listedAtMs: new Map(),
  }),
  {},
)
const principal = toPrincipal(sluice.KeyRecord.create({ privacyKnown: true, settingsKnown: true }), limits)

function contextOf(id: string): PlanContext {
  const model = catalog.models.get(id)
  assert.ok(model !== undefined)
  return { requestId: 'req_TEST', model, principal, limits }
}

const headOf = (contentType: string) => ({ contentType }) as RequestHead
const json = (body: unknown) => Buffer.from(JSON.stringify(body))
const spoken = formBody(
  [['model', 'test/transcription']],
  [{ name: 'file', filename: 'a.wav', contentType: 'audio/wav', data: wavFile(10) }],
)
const PLANS: Record<string, () => BufferedPlan | Promise<BufferedPlan>> = {
  embeddings: () =>
    embeddings.plan(
      embeddings.read(json({ model: 'test/embedding', input: ['abcd', 'efgh'] }), headOf(''), limits),
      contextOf('test/embedding'),
    ),
  images: () =>
    images.plan(
      images.read(json({ model: 'test/image', prompt: 'x', n: 2 }), headOf(''), limits),
      contextOf('test/image'),
    ),
  rerank: () =>
    rerank.plan(
      rerank.read(json({ model: 'test/rerank', query: 'q', documents: ['a', 'b', 'c'] }), headOf(''), limits),
      contextOf('test/rerank'),
    ),
  transcriptions: () =>
    transcriptions.plan(
      transcriptions.read(Buffer.concat(spoken.pieces), headOf(spoken.contentType), limits),
      contextOf('test/transcription'),
    ),
}

const large = new LargeBodies(limits, (error) => assert.fail(String(error)))
after(() => large.close())

async function answer(operation: string, text: string): Promise<BufferedAnswer | null> {
  const plan = await memberOf(PLANS, operation)()
  const body = Buffer.from(text)
  const members = membersOf(body, findMembers(body, plan.reading, limits))
  if ('rejected' in members) return null
  const found = await plan.answer(members, new AnswerJson(body), large)
  return 'rejected' in found ? null : found
}

function textOf(body: string | readonly Uint8Array[]): string {
  return typeof body === 'string' ? body : Buffer.concat(body).toString()
}

const vector = { object: 'embedding', index: 0, embedding: [0.5] }
const result = (index: number, relevance_score: number) => ({ index, relevance_score })
const REFUSED: [operation: string, answers: unknown[]][] = [
  [
    'embeddings',
    [{}, { data: null }, { data: [] }, { data: {} }, { data: [null] }, { data: [{}] }, { data: [{ embedding: null }] }],
  ],
  ['embeddings', [{ data: [vector], error: { message: 'no' } }, { data: [{ embedding: 'AAA' }] }, [], 'x', 1, null]],
  [
    'images',
    [{}, { data: null }, { data: [null] }, { data: [{}] }, { data: [{ b64_json: null }] }, { data: [{ url: 5 }] }],
  ],
  ['images', [{ data: [{ error: 'blocked' }, {}] }, { error: 'no', data: [{ url: 'x' }] }]],
  ['rerank', [{}, { results: [] }, { results: null }, { results: [result(3, 1)] }, { results: [result(-1, 1)] }]],
  ['rerank', [{ results: [result(0, 1), result(0, 1)] }, { results: [result(0.5, 1)] }, { results: [{ index: 0 }] }]],
  ['rerank', [{ results: [result(0, 1), result(1, 1), result(2, 1), result(0, 1)] }, { results: ['a'] }]],
  ['transcriptions', [{}, { text: null }, { text: 5 }, { text: 'x', error: 'no' }]],
]
for (const [operation, answers] of REFUSED) {
  for (const refused of answers) {
    test(`${operation}: ${JSON.stringify(refused)} is not a valid response`, async () => {
      assert.equal(await answer(operation, JSON.stringify(refused)), null)
    })
  }
}

const image = { b64_json: 'aaaa' }
const CHARGED: [operation: string, body: unknown, due: string, source: string][] = [
  ['embeddings', { data: [vector, vector], usage: { prompt_tokens: 5 } }, '5 tokens', 'reported'],
  ['embeddings', { data: [vector, vector], usage: { total_tokens: 6 } }, '6 tokens', 'reported'],
  ['embeddings', { data: [vector, vector], usage: { prompt_tokens: null, total_tokens: 6 } }, '6 tokens', 'reported'],
  ['embeddings', { data: [vector, vector], usage: { prompt_tokens: '5' } }, '5 tokens', 'reported'],
  ['embeddings', { data: [vector, vector], usage: { prompt_tokens: 'five' } }, '2 tokens', 'estimated'],
  ['embeddings', { data: [vector, vector], usage: { prompt_tokens: 1e9 } }, '2 tokens', 'estimated'],
  ['embeddings', { data: [vector, vector], usage: null }, '2 tokens', 'estimated'],
  ['images', { data: [] }, '0 counted', 'reported'],
  ['images', { data: [image, image, image], created: 'now' }, '3 counted', 'reported'],
  ['images', { data: [{ url: 'x', b64_json: null }] }, '1 counted', 'reported'],
  ['images', { data: [{ b64_json: null }, image, { error: { code: 'blocked' } }, image] }, '2 counted', 'reported'],
  ['rerank', { results: [result(1, 0.5)] }, '1 counted', 'reported'],
  ['rerank', { data: [{ index: 1, score: 0.5 }] }, '1 counted', 'reported'],
  ['rerank', { results: [result(1, 0.5)], meta: { billed_units: { search_units: 2 } } }, '2 counted', 'reported'],
  ['rerank', { results: [result(1, 0.5)], meta: { billed_units: { search_units: 99 } } }, '1 counted', 'reported'],
  ['transcriptions', { text: '', usage: { type: 'duration', seconds: 4 } }, '4 counted', 'reported'],
  ['transcriptions', { text: '', usage: { type: 'duration', seconds: 4.01 } }, '5 counted', 'reported'],
  ['transcriptions', { text: '', duration: '7.5' }, '8 counted', 'reported'],
  ['transcriptions', { text: '', duration: 0 }, '0 counted', 'reported'],
  [
    'transcriptions',
    { text: '', usage: { type: 'tokens', input_tokens: 5, output_tokens: 9 } },
    '10 counted',
    'estimated',
  ],
  ['transcriptions', { text: '', duration: 1e9 }, '10 counted', 'estimated'],
  ['transcriptions', { text: '', duration: 'long' }, '10 counted', 'estimated'],
]
for (const [operation, body, due, source] of CHARGED) {
  test(`${operation}: ${JSON.stringify(body)} costs ${due}, ${source}`, async () => {
    const found = await answer(operation, JSON.stringify(body))
    assert.ok(found !== null)
    const { usage, quantity } = found.bill
    assert.deepEqual(
      [operation === 'embeddings' ? `${usage.input} tokens` : `${quantity} counted`, found.bill.source],
      [due, source],
    )
    const text = textOf(found.body('{"r":1}'))
    assert.deepEqual((JSON.parse(text) as { receipt: unknown }).receipt, { r: 1 })
    assert.equal('receipt' in (JSON.parse(textOf(found.body(''))) as object), false)
  })
}

test('images that were made are delivered without the entries of those that were not', async () => {
  const found = await answer(
    'images',
    JSON.stringify({ data: [{ b64_json: null }, image, { error: {} }, { url: 'u' }] }),
  )
  const body = JSON.parse(textOf(found?.body('') ?? '')) as Record<string, unknown>
  assert.deepEqual(body['data'], [image, { url: 'u' }])
})

test('a receipt sent by the provider is not passed on as ours', async () => {
  const found = await answer('images', '{"data":[{"url":"x"}],"receipt":{"cost":0},"model":"inner","extra":{"a":[1]}}')
  const body = JSON.parse(textOf(found?.body('{"r":1}') ?? '')) as Record<string, unknown>
  assert.deepEqual([body['receipt'], body['model'], body['extra']], [{ r: 1 }, 'test/image', { a: [1] }])
})

test('no provider response throws', async () => {
  const member = fc.constantFrom('data', 'results', 'text', 'usage', 'meta', 'error', 'duration', 'created')
  const value = fc.oneof(
    fc.jsonValue({ maxDepth: 3 }),
    fc.constant([vector]),
    fc.constant([image]),
    fc.constant([result(0, 1)]),
  )
  const object = fc.dictionary(member, value).map((body) => JSON.stringify(body))
  const broken = fc.tuple(object, fc.nat()).map(([text, cut]) => text.slice(0, cut % (text.length + 1)))
  const bytes = fc.string({ maxLength: 30 })
  const operation = fc.constantFrom(...Object.keys(PLANS))
  await fc.assert(
    fc.asyncProperty(operation, fc.oneof(object, broken, bytes), async (name, text) => {
      const found = await answer(name, text)
      if (found === null) return
      assert.ok(Number.isSafeInteger(found.bill.units) && found.bill.units >= 0)
      JSON.parse(textOf(found.body('{}')))
    }),
    { numRuns: 1_500 },
  )
})
