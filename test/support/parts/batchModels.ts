import assert from 'node:assert/strict'
import { setImmediate } from 'node:timers/promises'
import { batchIdOf } from '../../../contract/api/batch.ts'
import type { Ended, HoldOf } from '../../../control/batch/batchHolds.ts'
import { CallError, type CallHttp, type HttpAnswer, type HttpCall } from '../../../control/runtime/net/httpCall.ts'
import { requestOf } from '../attempts.ts'

export const HOLD_UNITS = 1_000_000

export const USAGE = { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 }

/** What happens to the next call: before it is done, or after. */
export type Fault = 'none' | 'unsent' | 'lost_before' | 'lost_after' | 'busy' | 'broken' | 'garbage' | 'late' | Crash

/** The process ends, before the call is done or after. */
type Crash = 'crash' | 'crash_after'

/** Holds as Redis keeps them: each is ended once, and the first end counts. */
export class ModelHolds {
  readonly open = new Map<string, number>()
  readonly ends = new Map<string, number>()
  endCalls = 0
  /** The next ends are made, and their answers are lost. */
  loseAnswers = 0

  async takeOver(job: HoldOf): Promise<boolean> {
    this.open.set(job.id, HOLD_UNITS)
    return true
  }

  async held(jobs: readonly HoldOf[]): Promise<boolean[]> {
    return jobs.map((job) => this.open.has(job.id))
  }

  async end(job: HoldOf, chargeUnits: number | null): Promise<Ended> {
    this.endCalls++
    if (this.open.delete(job.id)) this.ends.set(job.id, chargeUnits ?? -1)
    if (this.loseAnswers > 0) {
      this.loseAnswers--
      throw new Error('the answer of Redis was lost')
    }
    const first = this.ends.get(job.id)
    assert.ok(first !== undefined, `${job.id} has no hold`)
    return { chargedUnits: Math.max(0, first), voided: first < 0 }
  }
}

interface UpstreamBatch {
  readonly id: string
  readonly group: string
  readonly ids: readonly string[]
  status: string
  /** What it says of its jobs, in this order, repeated ones included. */
  readonly output: string[]
  readonly errors: string[]
}

/** A provider whose every answer is told beforehand. */
export class ModelProvider {
  readonly batches: UpstreamBatch[] = []
  /** How often each job was run by a call of its own, and billed. */
  readonly runs = new Map<string, number>()
  readonly faults: Fault[] = []
  cancels = 0
  private readonly files = new Map<string, string>()
  private made = 0

  readonly call: CallHttp = async (call) => {
    const fault = this.faults.shift() ?? 'none'
    await setImmediate()
    if (fault === 'unsent') throw new CallError('unreachable', 'provider.test', false)
    if (fault === 'lost_before') throw new CallError('unreachable', 'provider.test', true)
    if (fault === 'busy') return answer(429, { error: { message: 'slow down' } })
    if (fault === 'broken') return answer(500, { error: { message: 'broken' } })
    if (fault === 'crash') return this.crash()
    const done = this.serve(call)
    if (fault === 'crash_after') return this.crash()
    if (fault === 'late') {
      this.onCrash()
      await new Promise<void>((resolve) => this.late.push(resolve))
    }
    if (fault === 'lost_after') throw new CallError('unreachable', 'provider.test', true)
    if (fault === 'garbage') return { status: 200, body: Buffer.from('<html>'), retryAfterSeconds: 0 }
    return done
  }

  /** Calls whose answers are held back, for processes that others have taken for dead meanwhile. */
  readonly late: (() => void)[] = []
  /** Told when a process ends in a call, which then never does, or comes to a stand in one. */
  onCrash: () => void = () => undefined

  private crash(): Promise<never> {
    this.onCrash()
    return new Promise(() => undefined)
  }

  /** Ends a batch. @param say for each job: how often it comes, as a completion or as an error */
  finish(batch: UpstreamBatch, status: string, say: (i: number) => { done: number; failed: number }): void {
    if (batch.status !== 'in_progress') return
    batch.status = status
    for (const [i, id] of batch.ids.entries()) {
      const { done, failed } = say(i)
      for (let n = 0; n < done; n++) batch.output.push(id)
      for (let n = 0; n < failed; n++) batch.errors.push(id)
    }
    batch.output.reverse()
  }

  private serve({ method, url, body }: HttpCall): HttpAnswer {
    const path = url.pathname.slice('/v1'.length)
    if (path === '/chat/completions') return this.complete(String(body))
    if (path === '/files') return this.upload(String(body))
    if (path === '/batches') return method === 'POST' ? this.create(String(body)) : this.list()
    const [, kind, id, verb] = path.split('/')
    if (method === 'DELETE') return answer(200, { id, deleted: this.files.delete(id ?? '') })
    if (kind === 'files') return this.content(id ?? '')
    const batch = this.batches.find((one) => one.id === id)
    if (batch === undefined) return answer(404, { error: { message: 'no such batch' } })
    if (verb === 'cancel') {
      this.cancels++
      if (batch.status === 'in_progress') batch.status = 'cancelled'
    }
    return answer(200, shown(batch))
  }

  private complete(body: string): HttpAnswer {
    const id = String((JSON.parse(body) as { user: string }).user)
    this.runs.set(id, (this.runs.get(id) ?? 0) + 1)
    return answer(200, completion())
  }

  private upload(form: string): HttpAnswer {
    const id = `file-${++this.made}`
    const lines = form.split('\r\n').find((line) => line.startsWith('{"custom_id"')) ?? ''
    this.files.set(id, lines)
    return answer(200, { id })
  }

  private create(body: string): HttpAnswer {
    const order = JSON.parse(body) as { input_file_id: string; metadata: { sluice_group: string } }
    const lines = (this.files.get(order.input_file_id) ?? '').split('\n')
    const ids = lines.map((line) => batchIdOf(requestOf((JSON.parse(line) as { custom_id: string }).custom_id)))
    const batch = { id: `b${++this.made}`, group: order.metadata.sluice_group, ids, status: 'in_progress' }
    this.batches.push({ ...batch, output: [], errors: [] })
    return answer(200, shown({ ...batch, output: [], errors: [] }))
  }

  private list(): HttpAnswer {
    return answer(200, { data: this.batches.map(shown), has_more: false })
  }

  private content(fileId: string): HttpAnswer {
    const [kind, id] = fileId.split('-')
    const batch = this.batches.find((one) => one.id === id)
    const ids = (kind === 'out' ? batch?.output : batch?.errors) ?? []
    const lines = ids.map((custom_id) =>
      kind === 'out'
        ? { custom_id, response: { status_code: 200, body: completion() }, error: null }
        : { custom_id, response: null, error: { code: 'server_error', message: 'no' } },
    )
    const text = lines.map((line) => JSON.stringify(line)).join('\n')
    return { status: 200, body: Buffer.from(text), retryAfterSeconds: 0 }
  }
}

function shown(batch: UpstreamBatch): Record<string, unknown> {
  const isOver = batch.status !== 'in_progress'
  return {
    id: batch.id,
    status: batch.status,
    metadata: { sluice_group: batch.group },
    output_file_id: isOver ? `out-${batch.id}` : null,
    error_file_id: isOver ? `err-${batch.id}` : null,
  }
}

function completion(): Record<string, unknown> {
  return { choices: [{ index: 0, message: { role: 'assistant', content: 'hi' } }], usage: USAGE }
}

function answer(status: number, body: unknown): HttpAnswer {
  return { status, body: Buffer.from(JSON.stringify(body)), retryAfterSeconds: 0 }
}
