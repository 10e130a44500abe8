import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import OpenAI, { APIError, ConflictError, InternalServerError, NotFoundError } from 'openai'
import { newId } from '../../contract/wire/ids.ts'
import { clipByte } from '../../mock/main.ts'
import {
  providerVideos,
  releaseVideos,
  rewriteVideo,
  SECOND_UNITS,
  type VideoObject,
  videoModel,
} from '../support/clients/videoClient.ts'
import { assertSecondsReconciled } from '../support/reconcile.ts'
import { type Stack, startStack, until } from '../support/stack.ts'

let stack: Stack
let client: OpenAI
/** Requests that the client has sent, retries among them. */
let sent = 0

before(async () => {
  stack = await startStack({
    workers: 2,
    limits: { videoPollMinMs: 50 },
    catalog: { models: [videoModel('test/clip', 'mock,video=held'), videoModel('test/failing', 'mock,video=failed')] },
  })
  const { apiKey } = await stack.createAccount({ credits: '100' })
  const counted: typeof fetch = (input, init) => {
    sent++
    return fetch(input, init)
  }
  client = new OpenAI({ baseURL: `${stack.baseUrl}/v1`, apiKey, fetch: counted })
})

after(() => stack.finish())

const take = (model: string) =>
  client.post<VideoObject>('/videos/generations', { body: { model, prompt: 'a cat', seconds: 4 } })

test('the official client follows a job and downloads its clip', async () => {
  const job = await take('test/clip')
  let video = await client.videos.retrieve(job.id)
  assert.equal(video.object, 'video')
  const sentBefore = sent
  await assert.rejects(client.videos.downloadContent(job.id), (error) => {
    assert.ok(error instanceof ConflictError)
    assert.equal(error.code, 'video_not_ready')
    return true
  })
  // It is told not to try again by itself.
  assert.equal(sent, sentBefore + 1)
  await releaseVideos(stack)
  await until('the clip is made', async () => {
    video = await client.videos.retrieve(job.id)
    return video.status === 'completed'
  })
  assert.deepEqual([video.model, video.seconds, video.progress, video.error], ['test/clip', '4', 100, null])
  const { receipt } = video as unknown as VideoObject
  assert.ok(receipt !== null)
  assertSecondsReconciled(receipt, await providerVideos(stack), SECOND_UNITS)
  const response = await client.videos.downloadContent(job.id)
  assert.equal(response.headers.get('content-type'), 'video/mp4')
  const bytes = new Uint8Array(await response.arrayBuffer())
  assert.equal(bytes.length, 65_536)
  assert.ok(bytes.every((byte, at) => byte === clipByte(at)))

  await rewriteVideo(stack, job.id, { madeAgoMs: 1_800_001 })
  const gone = await client.videos.downloadContent(job.id).then(
    () => undefined,
    (error: unknown) => error,
  )
  assert.ok(gone instanceof APIError)
  assert.deepEqual([gone.status, gone.code], [410, 'video_expired'])
})

test('failed and unknown jobs are returned with their specific errors', async () => {
  const job = await take('test/failing')
  await until('the job has failed', async () => (await client.videos.retrieve(job.id)).status === 'failed')
  const video = await client.videos.retrieve(job.id)
  assert.equal(video.error?.code, 'video_failed')
  await assert.rejects(client.videos.downloadContent(job.id), ConflictError)
  await assert.rejects(client.videos.retrieve(newId('video')), NotFoundError)
  await assert.rejects(client.post('/videos/generations', { body: { model: 'test/clip' } }), (error) => {
    assert.ok(error instanceof APIError && !(error instanceof InternalServerError))
    assert.deepEqual([error.status, error.param], [400, 'prompt'])
    return true
  })
})
