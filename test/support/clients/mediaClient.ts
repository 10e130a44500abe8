import assert from 'node:assert/strict'
import type { CountedReceipt, MediaModality } from '../reconcile.ts'
import type { TestModel } from '../testCatalog.ts'
import type { Reply } from './chatClient.ts'

const CATALOG: Readonly<Record<MediaModality, Record<string, unknown>>> = {
  embedding: { endpoints: ['embeddings'], price: { input: '0.1' }, context: 8_000 },
  image: { endpoints: ['images', 'image_edits'], price: { image: '0.04' }, context: undefined },
  speech: { endpoints: ['speech'], price: { character: '15' }, context: 500 },
  transcription: { endpoints: ['transcriptions'], price: { second: '0.0001' }, context: undefined },
  rerank: { endpoints: ['rerank'], price: { search: '0.002' }, context: undefined },
}

/** A model of a test's catalog that is not for chat, served by the mock provider under `upstream`. */
export function mediaModel(
  id: string,
  modality: MediaModality,
  upstream = 'mock',
  members: Record<string, unknown> = {},
): TestModel {
  return { id, modality, max_output: undefined, upstream, ...CATALOG[modality], ...members }
}

const SIZES = { '512x512': '0.01', '1024x1024': '0.04', '1536x1024': '0.06' }

/** A catalog with each kind of these models, and with providers that answer otherwise. */
export const MEDIA_MODELS: readonly TestModel[] = [
  mediaModel('test/embedding', 'embedding'),
  mediaModel('test/floats', 'embedding', 'mock,encoding=float,dims=5'),
  mediaModel('test/base64', 'embedding', 'mock,encoding=base64,dims=5'),
  mediaModel('test/image', 'image'),
  mediaModel('test/sizes', 'image', 'mock', { price: { image: '0.09', sizes: SIZES } }),
  mediaModel('test/no-edits', 'image', 'mock', { endpoints: ['images'] }),
  mediaModel('test/speech', 'speech'),
  mediaModel('test/speech-open', 'speech', 'mock', { context: undefined }),
  mediaModel('test/transcription', 'transcription'),
  mediaModel('test/rerank', 'rerank'),
  mediaModel('test/jina', 'rerank', 'mock,style=jina'),
  mediaModel('test/attested', 'embedding', 'mock', { attested: true }),
  mediaModel('test/unverified', 'embedding', 'mock', { verified: false }),
  { id: 'test/chat' },
]

/** Sends a JSON body. */
export async function postJson(url: string, apiKey: string, body: unknown): Promise<Reply> {
  return send(url, apiKey, JSON.stringify(body), { 'content-type': 'application/json' })
}

/** Sends a form; the values of the object are texts, files, or lists of either. */
export async function postForm(url: string, apiKey: string, fields: Record<string, unknown>): Promise<Reply> {
  const form = new FormData()
  for (const [name, value] of Object.entries(fields)) {
    for (const item of Array.isArray(value) ? (value as unknown[]) : [value]) {
      if (item instanceof Uint8Array) form.append(name, new Blob([new Uint8Array(item)]), 'file.bin')
      else if (item !== undefined) form.append(name, String(item))
    }
  }
  return send(url, apiKey, form)
}

/** Sends a body with a key. */
export async function send(
  url: string,
  apiKey: string,
  body: string | FormData,
  headers: Record<string, string> = {},
): Promise<Reply> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, ...headers },
    body,
  })
  return { status: response.status, headers: response.headers, text: await response.text() }
}

/** The body of an answer, with its receipt. */
export function answered(reply: Reply): Record<string, unknown> & { receipt: CountedReceipt } {
  assert.equal(reply.status, 200, reply.text)
  const body = JSON.parse(reply.text) as Record<string, unknown> & { receipt: CountedReceipt }
  assert.equal(body.receipt.request_id, reply.headers.get('x-request-id'))
  assert.equal(body.receipt.cost.units, reply.headers.get('x-cost-units'))
  return body
}
