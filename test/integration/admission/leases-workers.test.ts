// Goal: whatever happens to the processes that hold on leases, no unit is lost or made, nobody is refused while the money is
// there, and each request that was opened has one receipt, with the charge that its client was told.
// Method: random sequences of requests, recalls, broken connections, kills with replays, and losses of Redis, by several
// workers on a real Redis and a real book.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import { GatewayError } from '../../../contract/errors/errors.ts'
import { ledgerStream, shardOf } from '../../../contract/wire/redisKeys.ts'
import { ensureAdmission } from '../../../control/admission/keeper.ts'
import { ledgerLimits } from '../../support/limits.ts'
import { bookUntil } from '../../support/parts/bookUntil.ts'
import { type LeasedRequest, LeasingWorker } from '../../support/parts/leasingWorker.ts'
import { assertCleanAudit, type Book, drainAll, fundedAccount, log, startBook } from '../../support/parts/ledger.ts'
import { itemOf } from '../../support/present.ts'
import { rounds } from '../../support/rounds.ts'
import { until } from '../../support/stack.ts'
import { makeTempDir, removeTempDir } from '../../support/tempDir.ts'

const WORKERS = 3
const FUNDS = 100_000
/** An interval that does not end while a test runs. */
const NEVER_MS = 1_000_000_000
const RUNS = rounds({ short: 2, long: 100 })

type Step =
  | {
      readonly kind: 'take'
      readonly worker: number
      readonly key: number
      readonly units: number
      readonly count: number
      /** The holds are such as Redis keeps by themselves. */
      readonly single: boolean
    }
  | { readonly kind: 'end'; readonly place: number; readonly share: number }
  | { readonly kind: 'book' | 'rest' | 'flush' | 'restart' }
  | { readonly kind: 'break' | 'kill'; readonly worker: number }

const worker = fc.nat(WORKERS - 1)
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant('take' as const),
      worker,
      key: fc.nat(2),
      units: fc.integer({ min: 1, max: 30_000 }),
      count: fc.integer({ min: 1, max: 6 }),
      single: fc.boolean(),
    }),
  },
  {
    weight: 10,
    arbitrary: fc.record({
      kind: fc.constant('end' as const),
      place: fc.nat(99),
      share: fc.double({ min: 0, max: 1, noNaN: true }),
    }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constantFrom('book' as const, 'rest' as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom('break' as const, 'kill' as const), worker }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom('flush' as const, 'restart' as const) }) },
)

let book: Book
before(async () => {
  book = await startBook()
  await openAdmission()
})
after(() => book.stop())

async function openAdmission(): Promise<void> {
  const { pool, redis } = book
  await until('admission is open', async () => {
    const done = await ensureAdmission({ pool, redis, log, limits: ledgerLimits })
    return done === 'rebuilt' || done === 'unchanged'
  })
}

interface Open {
  readonly request: LeasedRequest
  readonly worker: LeasingWorker
  readonly single: boolean
}

/** The workers of one account, and what their clients were told. */
class World {
  readonly charges = new Map<string, number>()
  private workers: LeasingWorker[] = []
  private open: Open[] = []
  private readonly orphans: string[] = []
  /** Of killed workers, with single holds: where Redis has lost those as well, nobody tells the book of them. */
  private readonly perhapsOrphans = new Set<string>()
  private readonly folder = makeTempDir('leases')
  private readonly accountId: string

  private constructor(accountId: string) {
    this.accountId = accountId
  }

  static async start(): Promise<World> {
    const world = new World(await fundedAccount(book, FUNDS))
    for (let i = 0; i < WORKERS; i++) world.workers.push(await world.newWorker())
    return world
  }

  async run(one: Step): Promise<void> {
    switch (one.kind) {
      case 'take':
        return this.take(itemOf(this.workers, one.worker), one)
      case 'end':
        return this.end(one.place, one.share)
      case 'book':
        return drainAll(book)
      case 'rest':
        return new Promise((resolve) => setTimeout(resolve, 60))
      case 'break':
        return itemOf(this.workers, one.worker).breakConnection()
      case 'kill':
        return this.kill(one.worker)
      case 'flush':
        await book.redis.flushall()
        return openAdmission()
      default:
        await book.redisServer.kill9()
        await book.redisServer.restart()
        await until('all are connected', () => this.workers.every(({ isConnected }) => isConnected))
        return openAdmission()
    }
  }

  /** Ends everything, and compares what clients were told with the book. */
  async finish(): Promise<void> {
    while (this.open.length > 0) await this.end(0, 0.5)
    for (const one of this.workers.splice(0)) assert.equal(await one.stop(), true)
    await drainAll(book)
    const found = await book.pool.query<{ id: string; units: number; status: string }>(
      'SELECT request_id AS id, charge_units AS units, status FROM receipts WHERE account_id = $1',
      [this.accountId],
    )
    const booked = new Map(found.rows.map(({ id, units }) => [id, units]))
    const orphaned = found.rows.filter(({ status }) => status === 'orphaned').map(({ id }) => id)
    this.orphans.push(...orphaned.filter((id) => this.perhapsOrphans.has(id)))
    const told = new Map([...this.charges, ...this.orphans.map((id): [string, number] => [id, 0])])
    assert.deepEqual(booked, told)
    assert.deepEqual(orphaned.sort(), [...this.orphans].sort())
    await assertCleanAudit(book)
  }

  /** Leaves nothing running, however it went. */
  async close(): Promise<void> {
    for (const one of this.workers) await one.kill()
    removeTempDir(this.folder)
  }

  /** Units that nobody holds and nobody was charged. */
  private get freeUnits(): number {
    let units = FUNDS
    for (const { request } of this.open) units -= request.heldUnits
    for (const charged of this.charges.values()) units -= charged
    return units
  }

  private newWorker(): Promise<LeasingWorker> {
    return LeasingWorker.start(book.redisServer.url, book.pool, this.folder)
  }

  private async take(
    on: LeasingWorker,
    { key, units, count, single }: { key: number; units: number; count: number; single: boolean },
  ): Promise<void> {
    const keyId = `key_${key}_${this.accountId}`
    const { accountId } = this
    const takeOne = () => (single ? on.takeSingly(accountId, keyId, units) : on.take(accountId, keyId, units))
    const answers = await Promise.all(Array.from({ length: count }, takeOne))
    const held = answers.filter((answer): answer is LeasedRequest => !(answer instanceof GatewayError))
    this.open.push(...held.map((request) => ({ request, worker: on, single })))
    if (held.length === count) return
    const [refusal] = answers.filter((answer) => answer instanceof GatewayError)
    assert.equal(refusal?.code, 'insufficient_balance')
    // A single hold does not call back what lies in leases.
    if (single) return
    // Endings and recalled leases are on their way for longer than a request waits when the machine is busy.
    if (this.freeUnits < units) return
    await until(`${units} of ${this.freeUnits} free units are granted`, async () => {
      const granted = await on.take(accountId, keyId, units)
      if (granted instanceof GatewayError) return false
      this.open.push({ request: granted, worker: on, single })
      return true
    })
  }

  private async end(place: number, share: number): Promise<void> {
    if (this.open.length === 0) return
    const [ended] = this.open.splice(place % this.open.length, 1)
    assert.ok(ended !== undefined)
    const { request, worker: on } = ended
    const units = Math.floor(request.heldUnits * share)
    await on.end(request, units)
    this.charges.set(request.requestId, units)
  }

  private async kill(place: number): Promise<void> {
    const killed = itemOf(this.workers, place)
    await killed.kill()
    for (const { request, worker: on, single } of this.open) {
      if (on !== killed) continue
      if (single) this.perhapsOrphans.add(request.requestId)
      else this.orphans.push(request.requestId)
    }
    this.open = this.open.filter(({ worker: on }) => on !== killed)
    await bookUntil(book, killed.replay(book.redis))
    this.workers[place] = await this.newWorker()
  }
}

test('a request that waits for a lease does not make the endings of other keys be delivered before their interval', async (t) => {
  const folder = makeTempDir('interval')
  t.after(() => removeTempDir(folder))
  const accountId = await fundedAccount(book, FUNDS)
  const delivered = () => book.redis.xlen(ledgerStream(shardOf(accountId)))
  const changes = { leaseDeliverMs: NEVER_MS, leaseDemandMs: NEVER_MS }
  const on = await LeasingWorker.start(book.redisServer.url, book.pool, folder, changes)
  const keys = ['key_a', 'key_b', 'key_c', 'key_d']
  for (const key of keys) {
    // The calls of a shard follow each other, so that a delivery after the lease before would be over.
    const request = await on.take(accountId, key, 100)
    assert.ok(!(request instanceof GatewayError), String(request))
    assert.equal(await delivered(), 0, key)
    await on.end(request, 60)
  }
  assert.equal(on.undelivered, keys.length)
  assert.equal(await on.stop(), true)
  assert.equal(await delivered(), 1)
  await drainAll(book)
  await assertCleanAudit(book)
})

test('workers on leases neither lose nor create units under random endings, faults and lost messages', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), async (steps) => {
      const world = await World.start()
      try {
        for (const one of steps) await world.run(one)
        await world.finish()
      } finally {
        await world.close()
      }
    }),
    { numRuns: RUNS, endOnFailure: true },
  )
})
