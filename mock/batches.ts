import type { HttpResponse, TemplatedApp } from 'uWebSockets.js'
import { completionOf } from './completion.ts'
import { countFailure } from './failures.ts'
import { type Behaviour, behaviourOf } from './grammar.ts'
import { parseChat, readBytes } from './request.ts'
import type { ReportedUsage } from './usage.ts'

const KEPT_MAX = 10_000
const PAGE_MAX = 100
const FILE_NAME = /filename="([^"]*)"/

/** A batch as the mock provider recorded it: GET /_batches. */
export interface BatchEntry {
  readonly id: string
  readonly status: string
  readonly metadata: Record<string, unknown>
  /** The billed usage, by line, for lines with a completion. */
  readonly billed: { custom_id: string; model: string; usage: ReportedUsage | null }[]
  readonly custom_ids: string[]
  /** How often its state was asked for. */
  readonly polls: number
}

interface Line {
  readonly custom_id: string
  readonly model: string
  readonly text: string
}

interface Batch {
  readonly id: string
  readonly metadata: Record<string, unknown>
  readonly lines: readonly Line[]
  readonly behaviour: Behaviour
  readonly createdMs: number
  cancelled: boolean
  polls: number
}

/** Files and batches of the OpenAI dialect; the model name of the first line selects the behaviour. */
export class MockBatches {
  private readonly failures: Map<string, number>
  private readonly files = new Map<string, string>()
  private readonly batches = new Map<string, Batch>()
  private made = 0

  constructor(failures: Map<string, number>) {
    this.failures = failures
  }

  addRoutes(app: TemplatedApp): void {
    app.post('/v1/files', (res) => this.read(res, (bytes) => this.upload(res, bytes.toString())))
    app.post('/v1/batches', (res) => this.read(res, (bytes, isGone) => this.create(res, bytes.toString(), isGone)))
    app.post('/v1/batches/*', (res, req) => {
      const [id = '', verb] = req.getUrl().slice('/v1/batches/'.length).split('/')
      this.read(res, () => this.cancel(res, this.batches.get(id), verb))
    })
    app.get('/v1/batches', (res, req) => this.list(res, req.getQuery('after') ?? ''))
    app.get('/v1/batches/*', (res, req) => this.state(res, req.getUrl().slice('/v1/batches/'.length)))
    app.get('/v1/files/*', (res, req) => {
      const [id = ''] = req.getUrl().slice('/v1/files/'.length).split('/')
      this.content(res, id)
    })
    app.del('/v1/files/*', (res, req) => {
      const id = req.getUrl().slice('/v1/files/'.length)
      const deleted = this.files.delete(id) || id.includes('-of-')
      send(res, deleted ? '200 OK' : '404 Not Found', { id, object: 'file', deleted })
    })
    app.get('/_files', (res) => send(res, '200 OK', [...this.files.keys()]))
    app.get('/_batches', (res) =>
      send(
        res,
        '200 OK',
        [...this.batches.values()].map((batch) => entryOf(batch)),
      ),
    )
  }

  /** Forgets all files and batches. */
  reset(): void {
    this.files.clear()
    this.batches.clear()
  }

  private read(res: HttpResponse, done: (bytes: Buffer, isGone: () => boolean) => void): void {
    let gone = false
    res.onAborted(() => {
      gone = true
    })
    readBytes(res, (bytes) => {
      if (!gone) res.cork(() => (bytes === undefined ? refuse(res, 'The body is too large') : done(bytes, () => gone)))
    })
  }

  private upload(res: HttpResponse, form: string): void {
    const start = form.indexOf('\r\n\r\n', form.search(FILE_NAME)) + 4
    const end = form.lastIndexOf('\r\n--')
    if (!form.includes('name="purpose"') || !FILE_NAME.test(form) || end < start)
      return refuse(res, 'purpose and file are required')
    const id = `file-mock${++this.made}`
    if (this.files.size < KEPT_MAX) this.files.set(id, form.slice(start, end))
    send(res, '200 OK', { id, object: 'file', purpose: 'batch', bytes: end - start })
  }

  private create(res: HttpResponse, text: string, isGone: () => boolean): void {
    const order = parse(text)
    const file = this.files.get(String(order?.['input_file_id']))
    if (order === undefined || file === undefined) return refuse(res, 'There is no such file')
    if (order['endpoint'] !== '/v1/chat/completions') return refuse(res, 'The endpoint is not supported')
    const lines = linesOf(file)
    if (typeof lines === 'string') return refuse(res, lines)
    const behaviour = behaviourOf(lines[0]?.model ?? '')
    const { error, lost_batches: lost } = behaviour.integers
    if (error !== undefined) return send(res, `${error} Error`, { error: { message: 'asked to fail' } })
    const batch: Batch = {
      id: `batch_mock${++this.made}`,
      metadata: (order['metadata'] ?? {}) as Record<string, unknown>,
      lines,
      behaviour,
      createdMs: Date.now(),
      cancelled: false,
      polls: 0,
    }
    if (this.batches.size < KEPT_MAX) this.batches.set(batch.id, batch)
    if (lost !== undefined && countFailure(this.failures, `${behaviour.name} batches`, lost)) {
      res.close()
      return
    }
    // It is accepted immediately, whenever the answer says so.
    setTimeout(() => {
      if (!isGone()) send(res, '200 OK', bodyOf(batch))
    }, behaviour.slowHeadersMs)
  }

  private list(res: HttpResponse, after: string): void {
    const newest = [...this.batches.values()].reverse()
    const from = after === '' ? 0 : newest.findIndex((batch) => batch.id === after) + 1
    const data = newest.slice(from, from + PAGE_MAX).map(bodyOf)
    send(res, '200 OK', { object: 'list', data, has_more: newest.length > from + PAGE_MAX })
  }

  private state(res: HttpResponse, id: string): void {
    const batch = this.batches.get(id)
    if (batch === undefined) return refuse(res, 'There is no such batch', '404 Not Found')
    batch.polls++
    const { state_error: error, state_fail_first: failFirst } = batch.behaviour.integers
    if (error !== undefined) return send(res, `${error} Error`, { error: { message: 'asked to fail' } })
    if (failFirst !== undefined && countFailure(this.failures, `${id} state`, failFirst)) {
      return send(res, '500 Internal Server Error', { error: { message: 'asked to fail first' } })
    }
    send(res, '200 OK', bodyOf(batch))
  }

  private cancel(res: HttpResponse, batch: Batch | undefined, verb: string | undefined): void {
    if (batch === undefined || verb !== 'cancel') return refuse(res, 'There is no such batch', '404 Not Found')
    if (statusOf(batch) === 'in_progress') batch.cancelled = true
    send(res, '200 OK', bodyOf(batch))
  }

  private content(res: HttpResponse, id: string): void {
    const [kind, batchId = ''] = id.split('-of-')
    const batch = this.batches.get(batchId)
    if (batch === undefined) return refuse(res, 'There is no such file', '404 Not Found')
    const lines = kind === 'output' ? outputLines(batch) : errorLines(batch)
    res.cork(() => res.writeHeader('content-type', 'application/jsonl').end(lines.join('\n')))
  }
}

function linesOf(file: string): Line[] | string {
  const lines: Line[] = []
  for (const text of file.split('\n')) {
    const line = parse(text)
    const body = line?.['body'] as Record<string, unknown> | undefined
    if (line?.['method'] !== 'POST' || typeof line['custom_id'] !== 'string' || typeof body?.['model'] !== 'string') {
      return 'A line of the file is not valid'
    }
    lines.push({ custom_id: line['custom_id'], model: body['model'], text: JSON.stringify(body) })
  }
  if (new Set(lines.map((line) => line.model)).size !== 1) return 'A batch must be of one model'
  return new Set(lines.map((line) => line.custom_id)).size === lines.length ? lines : 'custom_id must be unique'
}

function statusOf({ behaviour, createdMs, cancelled }: Batch): string {
  if (cancelled) return 'cancelled'
  const { ends } = behaviour.words
  if (Date.now() - createdMs < (behaviour.integers.work ?? 0) || ends === 'stuck') return 'in_progress'
  return ends ?? 'completed'
}

/** The lines that the batch has a completion for; they are billed, however it ended. */
function madeLines(batch: Batch): Line[] {
  const status = statusOf(batch)
  if (batch.behaviour.badlines || (status !== 'completed' && status !== 'expired')) return []
  // The order of a batch's answers is not that of its requests.
  return batch.lines.filter((_, i) => status === 'completed' || i % 2 === 0).reverse()
}

function completionOfLine(line: Line): { body: string; usage: ReportedUsage | null } {
  const request = parseChat(line.text, 'chat')
  if (typeof request === 'string') throw new Error(request)
  return completionOf(behaviourOf(line.model), request)
}

function outputLines(batch: Batch): string[] {
  const lines = madeLines(batch).map((line) => {
    const head = JSON.stringify({ id: `line_${line.custom_id}`, custom_id: line.custom_id, error: null })
    return `${head.slice(0, -1)},"response":{"status_code":200,"request_id":"mock","body":${completionOfLine(line).body}}}`
  })
  return batch.behaviour.twice ? [...lines, ...lines] : lines
}

function errorLines(batch: Batch): string[] {
  const made = new Set(madeLines(batch).map((line) => line.custom_id))
  const isExpired = statusOf(batch) === 'expired'
  return batch.lines
    .filter((line) => !made.has(line.custom_id))
    .map(({ custom_id }) => {
      if (isExpired) {
        const error = { code: 'batch_expired', message: 'This request could not be executed in time.' }
        return JSON.stringify({ id: `line_${custom_id}`, custom_id, response: null, error })
      }
      const body = { error: { message: 'The line was asked to fail', type: 'invalid_request_error' } }
      return JSON.stringify({ id: `line_${custom_id}`, custom_id, response: { status_code: 400, body }, error: null })
    })
}

function bodyOf(batch: Batch): Record<string, unknown> {
  const status = statusOf(batch)
  const hasFiles = status === 'completed' || status === 'expired'
  const failed = status === 'failed' ? { object: 'list', data: [{ code: 'invalid', message: 'asked to fail' }] } : null
  return {
    id: batch.id,
    object: 'batch',
    status,
    metadata: batch.metadata,
    errors: failed,
    output_file_id: hasFiles && madeLines(batch).length > 0 ? `output-of-${batch.id}` : null,
    error_file_id: hasFiles && errorLines(batch).length > 0 ? `error-of-${batch.id}` : null,
    created_at: Math.floor(batch.createdMs / 1000),
  }
}

function entryOf(batch: Batch): BatchEntry {
  return {
    id: batch.id,
    status: statusOf(batch),
    metadata: batch.metadata,
    billed: madeLines(batch).map((line) => ({
      custom_id: line.custom_id,
      model: line.model,
      usage: completionOfLine(line).usage,
    })),
    custom_ids: batch.lines.map((line) => line.custom_id),
    polls: batch.polls,
  }
}

function parse(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}

function refuse(res: HttpResponse, message: string, status = '400 Bad Request'): void {
  send(res, status, { error: { message, type: 'invalid_request_error', param: null, code: null } })
}

function send(res: HttpResponse, status: string, body: unknown): void {
  res.cork(() => res.writeStatus(status).writeHeader('content-type', 'application/json').end(JSON.stringify(body)))
}
