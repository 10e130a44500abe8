import assert from 'node:assert/strict'
import { pino } from 'pino'
import { batchIdOf } from '../../../contract/api/batch.ts'
import { sluice } from '../../../contract/wire/generated/messages.js'
import { newId } from '../../../contract/wire/ids.ts'
import { endDecided } from '../../../control/batch/charger.ts'
import { Contradictions } from '../../../control/batch/contradictions.ts'
import { expireJobs } from '../../../control/batch/expiry.ts'
import { packGroups } from '../../../control/batch/groupStore.ts'
import { GroupWorker } from '../../../control/batch/groupWorker.ts'
import { openJob, recoverOpening } from '../../../control/batch/openJob.ts'
import type { Providers } from '../../../control/batch/providers.ts'
import { SingleCalls } from '../../../control/batch/singleCalls.ts'
import type { Pool } from '../../../control/runtime/db/pool.ts'
import { attemptIds } from '../attempts.ts'
import { batchLimits as limits } from '../limits.ts'
import { HOLD_UNITS, ModelHolds, ModelProvider } from './batchModels.ts'

const RATES = { input: 500_000, output: 1_000_000 }
/** 100 tokens at 0.5 and 10 at 1 USD per million. */
export const CHARGE = 60
const SILENT = pino({ level: 'silent' })

export const PROVIDERS: Providers = new Map(
  [
    { id: 'packs', batch: true },
    { id: 'plain', batch: false },
  ].map((one) => [
    one.id,
    { ...one, outputFromTotal: false, baseUrl: `http://${one.id}.test/v1`, headers: {}, query: '', apiKey: '' },
  ]),
)

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
    const { pool, holds, now } = this
    const contradictions = new Contradictions(SILENT)
    const parts = { pool, holds, log: SILENT, contradictions, call: this.provider.call, now, attemptIds, limits }
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
