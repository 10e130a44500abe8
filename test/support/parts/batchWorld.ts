import assert from 'node:assert/strict'
import { setImmediate } from 'node:timers/promises'
import { pino } from 'pino'
import { batchIdOf } from '../../../contract/api/batch.ts'
import { sluice } from '../../../contract/wire/generated/messages.js'
import { newId } from '../../../contract/wire/ids.ts'
import type { Ended, HoldOf } from '../../../control/batch/batchHolds.ts'
import { endDecided } from '../../../control/batch/charger.ts'
import { expireJobs } from '../../../control/batch/expiry.ts'
import { packGroups } from '../../../control/batch/groupStore.ts'
import { GroupWorker } from '../../../control/batch/groupWorker.ts'
import { openJob, recoverOpening } from '../../../control/batch/openJob.ts'
import type { Providers } from '../../../control/batch/providers.ts'
import { SingleCalls } from '../../../control/batch/singleCalls.ts'
import type { Pool } from '../../../control/runtime/db/pool.ts'
import { CallError, type CallHttp, type HttpAnswer, type HttpCall } from '../../../control/runtime/net/httpCall.ts'
import { batchLimits as limits } from '../limits.ts'

const HOLD_UNITS = 1_000_000
const RATES = { input: 500_000, output: 1_000_000 }
export const USAGE = { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 }
/** 100 tokens at 0.5 and 10 at 1 USD per million. */
export const CHARGE = 60
const SILENT = pino({ level: 'silent' })

export const PROVIDERS: Providers = new Map(
  [
    { id: 'packs', batch: true },
    { id: 'plain', batch: false },
  ].map((one) => [one.id, { ...one, baseUrl: `http://${one.id}.test/v1`, apiKey: '' }]),
)

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
    const ids = lines.map((line) => (JSON.parse(line) as { custom_id: string }).custom_id)
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

/** Batch jobs of control over a real book, a clock that is set by hand, and models of Redis and the provider. */
export class BatchWorld {
  nowMs = Date.UTC(2027, 0, 1)
  readonly holds = new ModelHolds()
  readonly provider = new ModelProvider()
  readonly pool: Pool
  readonly jobs: string[] = []
  private groups!: GroupWorker
  private singles!: SingleCalls

  constructor(pool: Pool) {
    this.pool = pool
    this.restart()
  }

  /** A new control process, which remembers nothing. */
  restart(): void {
    const parts = { pool: this.pool, holds: this.holds, log: SILENT, call: this.provider.call, now: this.now, limits }
    this.groups = new GroupWorker(parts)
    this.singles = new SingleCalls({ ...parts, onDone: () => undefined })
  }

  readonly now = (): number => this.nowMs

  async submit(provider: 'packs' | 'plain', webhookUrl = ''): Promise<string> {
    const requestId = newId('req')
    const request = sluice.SubmitBatchRequest.create({
      requestId,
      accountId: 'acct_1',
      keyId: 'key_1',
      owner: 'own_1',
      model: 'test/model',
      sheetVersion: 1,
      coinUsdUnits: 1_000_000_000,
      holdUnits: HOLD_UNITS,
      heldAtMs: this.nowMs,
      startedAtMs: this.nowMs,
      rates: RATES,
      routes: [{ provider, model: 'up', limitName: 'max_tokens' }],
      maxTokens: 100,
      context: 1_000,
      maxOutput: 1_000,
      promptBytes: 10,
      webhookUrl,
      body: Buffer.from(JSON.stringify({ messages: [], user: batchIdOf(requestId) })),
    } as unknown as sluice.SubmitBatchRequest)
    const { pool, holds, now } = this
    await openJob({ pool, holds, now, providers: async () => PROVIDERS, allowPrivate: true, limits }, request)
    this.jobs.push(requestId)
    return requestId
  }

  /** One round of control; a crash in it ends the process, and the round is left where it was. */
  async pass(): Promise<void> {
    const crashed = new Promise<void>((resolve) => {
      this.provider.onCrash = resolve
    })
    const round = this.round()
    round.catch(() => undefined)
    const isCrash = await Promise.race([round.then(() => false), crashed.then(() => true)])
    if (isCrash) this.restart()
  }

  /** Lets the processes that came to a stand go on, beside the one that has taken their place. */
  async release(): Promise<void> {
    for (let turn = 0; turn < 20; turn++) {
      for (const go of this.provider.late.splice(0)) go()
      await this.pool.query('SELECT 1')
    }
  }

  private async round(): Promise<void> {
    const { pool, holds, now, groups, singles } = this
    await recoverOpening({ pool, holds, now, limits })
    await singles.failLost()
    await packGroups(pool, ['packs'], this.nowMs, limits)
    while (await groups.step(PROVIDERS));
    await singles.start(PROVIDERS)
    await singles.stop(5_000)
    await expireJobs(pool, this.nowMs, limits)
    await endDecided({ pool, holds, log: SILENT, now, limits })
  }

  /** How every job stands. */
  async rows(): Promise<{ id: string; state: string; charge_units: number | null; receipt: string | null }[]> {
    const found = await this.pool.query<{
      id: string
      state: string
      charge_units: number | null
      receipt: string | null
    }>('SELECT id, state, charge_units, receipt FROM batch_jobs WHERE id = ANY ($1::text[])', [this.jobs])
    return found.rows
  }

  /** Asserts what has to be true once all is over. */
  async assertEnded(): Promise<void> {
    const rows = await this.rows()
    assert.equal(rows.length, this.jobs.length, 'a job is lost')
    assert.equal(this.holds.open.size, 0, 'a hold stays')
    for (const { id, state, charge_units: charged } of rows) {
      assert.ok(['done', 'failed', 'expired'].includes(state), `${id} is ${state}`)
      assert.equal(charged, state === 'done' ? CHARGE : 0)
      assert.equal(this.holds.ends.get(id), state === 'done' ? CHARGE : -1, `${id} is ${state}`)
      const own = batchIdOf(id)
      const sent = this.provider.batches.filter((batch) => batch.ids.includes(own)).length
      const runs = this.provider.runs.get(own) ?? 0
      assert.ok(sent + runs <= 1, `${id} was run ${sent + runs} times`)
      if (state === 'done') assert.equal(sent + runs, 1)
    }
  }
}
