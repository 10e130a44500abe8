import assert from 'node:assert/strict'
import type { VideoState } from '../../../contract/catalog/video.ts'
import type { VideoJob } from '../../../mock/main.ts'
import { byRequest } from '../attempts.ts'
import { type Stack, until } from '../stack.ts'
import type { TestModel } from '../testCatalog.ts'
import type { Receipt, Reply } from './chatClient.ts'

/** USD per clip second of `videoModel`, and the same in units. */
const SECOND_USD = '0.1'
export const SECOND_UNITS = 100_000_000

export interface VideoObject {
  readonly id: string
  readonly object: string
  readonly status: 'queued' | 'in_progress' | 'completed' | 'failed'
  readonly progress: number
  readonly created_at: number
  readonly completed_at: number | null
  readonly expires_at: number | null
  readonly model: string
  readonly seconds: string
  readonly error: { code: string; message: string } | null
  readonly request_id: string
  readonly poll: string
  readonly content: string
  readonly hold: { units: string; usd: string; coin: string }
  readonly receipt: (Receipt & { usage: { quantity?: number; unit?: string } }) | null
}

/** A video model of a test's catalog, taking clips of 4, 8 and 12 seconds. */
export function videoModel(id: string, upstream: string, members: Record<string, unknown> = {}): TestModel {
  return {
    id,
    upstream,
    modality: 'video',
    endpoints: ['videos'],
    price: { second: SECOND_USD },
    video: { seconds: [4, 8, 12] },
    ...members,
  }
}

function headersOf(apiKey: string): Record<string, string> {
  return apiKey === '' ? {} : { authorization: `Bearer ${apiKey}` }
}

async function replyOf(response: Response): Promise<Reply> {
  return { status: response.status, headers: response.headers, text: await response.text() }
}

/** Sends a body to POST /v1/videos/generations; the prompt defaults to a short one. */
export async function generate(baseUrl: string, apiKey: string, body: Record<string, unknown>): Promise<Reply> {
  const response = await fetch(`${baseUrl}/v1/videos/generations`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headersOf(apiKey) },
    body: JSON.stringify({ prompt: 'a cat', ...body }),
  })
  return replyOf(response)
}

/** Takes a job and checks that it was taken. */
export async function newVideo(baseUrl: string, apiKey: string, body: Record<string, unknown>): Promise<VideoObject> {
  const reply = await generate(baseUrl, apiKey, body)
  assert.equal(reply.status, 202, reply.text)
  const job = JSON.parse(reply.text) as VideoObject
  assert.match(job.id, /^video_[0-9A-HJKMNP-TV-Z]{26}$/)
  assert.equal(job.request_id, reply.headers.get('x-request-id'))
  assert.equal(reply.headers.get('location'), `/v1/videos/${job.id}`)
  return job
}

export async function videoReply(baseUrl: string, apiKey: string, videoId: string): Promise<Reply> {
  return replyOf(await fetch(`${baseUrl}/v1/videos/${videoId}`, { headers: headersOf(apiKey) }))
}

export async function contentReply(baseUrl: string, apiKey: string, videoId: string): Promise<Reply> {
  return replyOf(await fetch(`${baseUrl}/v1/videos/${videoId}/content`, { headers: headersOf(apiKey) }))
}

/** The clip's bytes. */
export async function clipOf(baseUrl: string, apiKey: string, videoId: string): Promise<Buffer> {
  const response = await fetch(`${baseUrl}/v1/videos/${videoId}/content`, { headers: headersOf(apiKey) })
  assert.equal(response.status, 200)
  assert.equal(response.headers.get('content-type'), 'video/mp4')
  return Buffer.from(await response.arrayBuffer())
}

/** Reads a job until it is in one of these states. */
export async function videoIn(
  baseUrl: string,
  apiKey: string,
  videoId: string,
  statuses: readonly VideoObject['status'][],
): Promise<VideoObject> {
  let job: VideoObject | undefined
  await until(`${videoId} is ${statuses.join(' or ')}`, async () => {
    const reply = await videoReply(baseUrl, apiKey, videoId)
    assert.equal(reply.status, 200, reply.text)
    job = JSON.parse(reply.text) as VideoObject
    return statuses.includes(job.status)
  })
  assert.ok(job !== undefined)
  return job
}

/** Has the mock provider finish the clips that it holds back (`video=held`). */
export async function releaseVideos(stack: Stack): Promise<void> {
  const response = await fetch(`${stack.provider.url().replace('/v1', '')}/_videos/release`, { method: 'POST' })
  assert.equal(response.status, 200)
}

/** Moves the moment at which a clip was made, and changes the state of its job: what Redis has of it. */
export async function rewriteVideo(
  stack: Stack,
  videoId: string,
  change: { madeAgoMs?: number; state?: VideoState },
): Promise<void> {
  await stack.withRedis(async (redis) => {
    const [key = ''] = await redis.keys(`video:{*}:${videoId}`)
    const [seconds] = await redis.time()
    if (change.madeAgoMs !== undefined) await redis.hset(key, 'm', Number(seconds) * 1_000 - change.madeAgoMs)
    if (change.state !== undefined) await redis.hset(key, 's', change.state)
  })
}

/** What the mock provider's own book says of its jobs. */
export async function providerVideos(stack: Stack): Promise<VideoJob[]> {
  const response = await fetch(`${stack.provider.url().replace('/v1', '')}/_videos`)
  return byRequest((await response.json()) as VideoJob[])
}
