import type { HttpResponse, TemplatedApp } from 'uWebSockets.js'
import { Exchange } from './exchange.ts'
import { answerError, answerFailure, countFailure, later } from './failures.ts'
import { type Behaviour, behaviourOf } from './grammar.ts'
import { keepOpen } from './keepOpen.ts'
import type { ServedLog } from './log.ts'
import { readBody, readHead } from './request.ts'
import type { TimerWheel } from './wheel.ts'
import { writeSlices } from './writeSlices.ts'

const JOBS_MAX = 100_000
const CLIP_BYTES = 65_536
const PIECE_BYTES = 65_536
const SECONDS_DEFAULT = 4

/** A video job as the mock provider recorded it: GET /_videos. */
export interface VideoJob {
  readonly id: string
  /** The x-request-id header of the request that made it, or null. */
  readonly request_id: string | null
  readonly model: string
  readonly status: 'queued' | 'in_progress' | 'completed' | 'failed'
  /** The billed seconds of a finished clip; else 0. */
  readonly seconds_billed: number
  /** How often its state was asked for, and its clip fetched. */
  polls: number
  downloads: number
  /** Bytes of its clip that were sent, in all fetches. */
  clip_bytes_sent: number
  /** The request, but for its image. */
  readonly body: Record<string, unknown>
  readonly image_characters: number
}

interface Job extends VideoJob {
  readonly behaviour: Behaviour
  readonly createdMs: number
  readonly askedSeconds: number
  released: boolean
}

/** POST /v1/videos, GET /v1/videos/{id} and its content; the model name selects the behaviour. */
export class MockVideos {
  private readonly log: ServedLog
  private readonly wheel: TimerWheel
  private readonly failures: Map<string, number>
  private readonly jobs = new Map<string, Job>()

  constructor(log: ServedLog, wheel: TimerWheel, failures: Map<string, number>) {
    this.log = log
    this.wheel = wheel
    this.failures = failures
  }

  addRoutes(app: TemplatedApp): void {
    app.post('/v1/videos', (res, req) => {
      const head = readHead(req)
      const exchange = new Exchange(res, this.log, head.requestId)
      readBody(res, (text) => {
        if (!exchange.ended) res.cork(() => this.create(exchange, text, head.requestId))
      })
    })
    // This build of the HTTP server prefers `/*` of any method to paths with parameters.
    app.get('/v1/videos/*', (res, req) => {
      const [id = '', part] = req.getUrl().slice('/v1/videos/'.length).split('/')
      if (part === 'content') this.content(res, this.jobs.get(id))
      else this.state(res, this.jobs.get(id))
    })
    app.post('/_videos/release', (res) => {
      for (const job of this.jobs.values()) job.released = true
      sendJson(res, '200 OK', {})
    })
    app.get('/_videos', (res) => sendJson(res, '200 OK', [...this.jobs.values()].map(bookEntry)))
  }

  /** Forgets all jobs. */
  reset(): void {
    this.jobs.clear()
  }

  private create(exchange: Exchange, text: string | undefined, requestId: string | null): void {
    const body = parse(text)
    const model = body?.['model']
    if (body === undefined || typeof model !== 'string' || typeof body['prompt'] !== 'string') {
      return answerError(exchange, 400, undefined, 'model and prompt are required')
    }
    exchange.acceptMedia('/v1/videos', model, {})
    let behaviour: Behaviour
    try {
      behaviour = behaviourOf(model)
    } catch (error) {
      return answerError(exchange, 404, undefined, error instanceof Error ? error.message : String(error))
    }
    if (answerFailure(exchange, behaviour, this.wheel, this.failures)) return
    const job = newJob(model, behaviour, body, requestId)
    if (this.jobs.size < JOBS_MAX) this.jobs.set(job.id, job)
    later(exchange, behaviour, this.wheel, () => {
      exchange.res.writeHeader('content-type', 'application/json')
      exchange.sent(200, 0, 0, null)
      exchange.end('complete', JSON.stringify(jobBody(job)))
    })
  }

  private state(res: HttpResponse, job: Job | undefined): void {
    if (job === undefined) return sendJson(res, '404 Not Found', { error: { message: 'There is no such video' } })
    job.polls++
    const { state_error: error, state_fail_first: failFirst } = job.behaviour.integers
    if (error !== undefined) return sendJson(res, `${error} Error`, { error: { message: 'asked to fail' } })
    if (failFirst !== undefined && countFailure(this.failures, `${job.id} state`, failFirst)) {
      return sendJson(res, '500 Internal Server Error', { error: { message: 'asked to fail first' } })
    }
    sendJson(res, '200 OK', jobBody(job))
  }

  private content(res: HttpResponse, job: Job | undefined): void {
    if (job === undefined || statusOf(job) !== 'completed') {
      return sendJson(res, '404 Not Found', { error: { message: 'There is no such clip' } })
    }
    job.downloads++
    const { clip_error: error } = job.behaviour.integers
    if (error !== undefined) return sendJson(res, `${error} Error`, { error: { message: 'asked to fail' } })
    sendClip(res, job)
  }
}

/** The byte at a place of every clip, so that a reader can verify its content. */
export function clipByte(at: number): number {
  return (at + (at >> 8)) & 255
}

function newJob(model: string, behaviour: Behaviour, body: Record<string, unknown>, requestId: string | null): Job {
  const { input_reference: image, ...rest } = body
  return {
    id: `video_mock_${Math.random().toString(36).slice(2)}${Date.now().toString(36)}`,
    request_id: requestId,
    model,
    status: 'queued',
    seconds_billed: 0,
    polls: 0,
    downloads: 0,
    clip_bytes_sent: 0,
    body: rest,
    image_characters: image === undefined ? 0 : JSON.stringify(image).length,
    behaviour,
    createdMs: Date.now(),
    askedSeconds: Number(body['seconds'] ?? SECONDS_DEFAULT),
    released: false,
  }
}

function statusOf(job: Job): VideoJob['status'] {
  const { queue = 0, make = 0 } = job.behaviour.integers
  const agedMs = Date.now() - job.createdMs
  if (agedMs < queue) return 'queued'
  const ending = job.behaviour.words.video
  const waits = ending === 'stuck' || (ending === 'held' && !job.released)
  if (agedMs < queue + make || waits) return 'in_progress'
  return ending === 'failed' ? 'failed' : 'completed'
}

function reportedSeconds(job: Job): number {
  return job.behaviour.integers.seconds ?? job.askedSeconds
}

/** The body that describes a job. */
function jobBody(job: Job): Record<string, unknown> {
  const status = statusOf(job)
  const { queue = 0, make = 0 } = job.behaviour.integers
  const share = make === 0 ? 1 : (Date.now() - job.createdMs - queue) / make
  return {
    id: job.id,
    object: 'video',
    model: job.model,
    status,
    progress: status === 'completed' ? 100 : Math.floor(99 * Math.min(1, Math.max(0, share))),
    created_at: Math.floor(job.createdMs / 1000),
    ...(!job.behaviour.noseconds && { seconds: String(reportedSeconds(job)) }),
    error: status === 'failed' ? { code: 'moderation_blocked', message: 'The clip was blocked' } : null,
  }
}

function bookEntry(job: Job): VideoJob {
  const {
    behaviour: _behaviour,
    createdMs: _createdMs,
    askedSeconds: _askedSeconds,
    released: _released,
    ...entry
  } = job
  const status = statusOf(job)
  return { ...entry, status, seconds_billed: status === 'completed' ? reportedSeconds(job) : 0 }
}

function parse(text: string | undefined): Record<string, unknown> | undefined {
  try {
    const body: unknown = JSON.parse(text ?? '')
    return typeof body === 'object' && body !== null ? (body as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}

function sendJson(res: HttpResponse, status: string, body: unknown): void {
  res.cork(() => res.writeStatus(status).writeHeader('content-type', 'application/json').end(JSON.stringify(body)))
}

/** Sends a clip with backpressure; a cut clip breaks the connection. */
function sendClip(res: HttpResponse, job: Job): void {
  const { clip: bytes = CLIP_BYTES, clip_cut: cut } = job.behaviour.integers
  const stopAt = Math.min(bytes, cut ?? bytes)
  let sent = 0
  const answer = { res, ended: false }
  const step = (): boolean => {
    while (!answer.ended && sent < stopAt) {
      const piece = clipPiece(sent, Math.min(PIECE_BYTES, stopAt - sent))
      sent += piece.length
      job.clip_bytes_sent += piece.length
      if (!writeSlices(res, piece)) {
        keepOpen(answer)
        return false
      }
    }
    if (answer.ended) return true
    answer.ended = true
    if (cut === undefined) res.cork(() => res.end())
    else setImmediate(() => res.close())
    return true
  }
  res.onAborted(() => {
    answer.ended = true
  })
  res.onWritable(step)
  res.cork(() => res.writeHeader('content-type', 'video/mp4'))
  step()
}

function clipPiece(from: number, bytes: number): Buffer {
  const piece = Buffer.allocUnsafe(bytes)
  for (let i = 0; i < bytes; i++) piece[i] = clipByte(from + i)
  return piece
}
