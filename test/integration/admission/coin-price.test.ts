// Goal: a balance of coin is a number of coin. A new price of the coin changes none, whatever is leased, held, linked, paid
// or withdrawn meanwhile; and a charge of X units takes exactly the least coin that X is worth by its own price sheet.
// Method: random sequences by several workers on a real Redis and a real book, with a new price at any moment and losses of
// Redis; then every charge is reckoned again, every balance added up, and the audit run: with leases out, and at the end.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import { GatewayError } from '../../../contract/errors/errors.ts'
import { coinFor, valueOfCoin } from '../../../contract/money/coin.ts'
import { formatUsd } from '../../../contract/money/units.ts'
import { newId } from '../../../contract/wire/ids.ts'
import { HoldCode, SettleCode } from '../../../contract/wire/scripts.ts'
import { Debits } from '../../../control/admission/debits/debit.ts'
import { ensureAdmission } from '../../../control/admission/keeper.ts'
import { settleLost } from '../../../control/admission/settleLost.ts'
import { coinAccount, ESCROW_COIN } from '../../../control/book/ledger/accounts.ts'
import { grantCredits } from '../../../control/book/ledger/grantCredits.ts'
import { openNewAccount } from '../../../control/identity/accounts/accounts.ts'
import { insertWithdrawal } from '../../../control/products/payments/withdrawals/withdrawalRow.ts'
import { WITHDRAWAL } from '../../../control/products/payments/withdrawals/withdrawals.ts'
import { cancelLink, claimLink, createLink } from '../../../control/products/transfers/links/links.ts'
import { GATEWAY } from '../../../control/runtime/activity/activity.ts'
import { withTransaction } from '../../../control/runtime/db/pool.ts'
import { type UndoableTransaction, withUndo } from '../../../control/runtime/db/undoable.ts'
import { ledgerLimits as limits } from '../../support/limits.ts'
import { ACCOUNTS, type CoinStep, coinStep, pricedBy, publishPrices, WORKERS } from '../../support/parts/coinSteps.ts'
import { type LeasedRequest, LeasingWorker, type Priced } from '../../support/parts/leasingWorker.ts'
import {
  assertCleanAudit,
  type Book,
  dispatchEvents,
  drainAll,
  log,
  settlementOf,
  startBook,
  TestProxy,
} from '../../support/parts/ledger.ts'
import { itemOf } from '../../support/present.ts'
import { rounds } from '../../support/rounds.ts'
import { until } from '../../support/stack.ts'
import { makeTempDir, removeTempDir } from '../../support/tempDir.ts'

const FUNDS_NANOS = 1_000_000_000
const GRANT_UNITS = 50_000_000
const RUNS = rounds({ short: 3, long: 60 })
let book: Book
let debits: Debits
before(async () => {
  book = await startBook()
  debits = new Debits(book.pool, book.redis, limits)
  await publishPrices(book.pool)
  await openAdmission()
})
after(() => book.stop())

async function openAdmission(): Promise<void> {
  const { pool, redis } = book
  await until('admission is open', async () => {
    const done = await ensureAdmission({ pool, redis, log, limits })
    return done === 'rebuilt' || done === 'unchanged'
  })
}

type Leased = { readonly request: LeasedRequest; readonly worker: LeasingWorker }
type Held = { readonly requestId: string; readonly accountId: string; readonly units: number }

/** Accounts, and the coin that each has by what was done with it. */
class World {
  private priced = pricedBy(0)
  private readonly prices = new Map<string, Priced>()
  private readonly nanos = new Map<string, number>()
  private readonly workers: LeasingWorker[] = []
  private readonly proxy = new TestProxy(book.redis)
  private leased: Leased[] = []
  private held: Held[] = []
  private links: { id: string; token: string; owner: string; nanos: number }[] = []
  private readonly folder = makeTempDir('coin')
  private readonly beats = setInterval(() => void this.proxy.beat().catch(() => undefined), 50)

  static async start(): Promise<World> {
    const world = new World()
    for (let i = 0; i < ACCOUNTS; i++) {
      const accountId = await openNewAccount(book.pool, limits, { coinNanos: FUNDS_NANOS })
      const grant = { accountId, units: GRANT_UNITS, source: 'test', expiresAtMs: Date.now() + 86_400_000 }
      if (i === 0) await withTransaction(book.pool, (client) => grantCredits(client, grant, limits))
      world.nanos.set(accountId, FUNDS_NANOS)
    }
    await dispatchEvents(book)
    for (let i = 0; i < WORKERS; i++) {
      world.workers.push(await LeasingWorker.start(book.redisServer.url, book.pool, world.folder))
    }
    return world
  }

  async run(one: CoinStep): Promise<void> {
    await this.step(one)
    await dispatchEvents(book)
  }

  private async step(one: CoinStep): Promise<void> {
    switch (one.kind) {
      case 'price':
        this.priced = pricedBy(one.place)
        return
      case 'take':
        return this.take(one)
      case 'hold':
        return this.hold(this.accountAt(one.account), this.unitsOf(one.share))
      case 'hold singly':
        return this.holdSingly(this.accountAt(one.account), this.unitsOf(one.share))
      case 'end':
        return this.end(one.place, one.share)
      case 'settle':
        return this.settle(one.place, one.share)
      case 'claim':
      case 'cancel':
        return this.endLink(one)
      case 'rest':
        return new Promise((resolve) => setTimeout(resolve, 60))
      case 'flush':
        return this.flush()
      default:
        return this.move(one.kind, this.accountAt(one.account), Math.floor(one.share * FUNDS_NANOS * 0.4))
    }
  }

  /** Everything ends, some of it only after an audit with leases out and holds open. */
  async finish(): Promise<void> {
    await drainAll(book)
    await assertCleanAudit(book)
    while (this.leased.length > 0) await this.end(0, 0.5)
    while (this.held.length > 0) await this.settle(0, 0.5)
    for (const one of this.workers.splice(0)) assert.equal(await one.stop(), true)
    await drainAll(book)
    await this.reckonCharges()
    for (const [accountId, nanos] of this.nanos) {
      const found = await book.pool.query<{ balance: number }>('SELECT balance FROM ledger_accounts WHERE id = $1', [
        coinAccount(accountId),
      ])
      assert.equal(found.rows[0]?.balance, nanos, accountId)
    }
    await assertCleanAudit(book)
  }

  /** Leaves nothing running, however it went. */
  async close(): Promise<void> {
    clearInterval(this.beats)
    for (const one of this.workers) await one.kill()
    removeTempDir(this.folder)
  }

  private accountAt(i: number): string {
    return itemOf([...this.nanos.keys()], i)
  }

  private unitsOf(part: number): number {
    return 1 + Math.floor(part * 0.2 * valueOfCoin(FUNDS_NANOS, this.priced.coinUsdUnits))
  }

  private async take({ worker, account: i, share: part, count }: Extract<CoinStep, { kind: 'take' }>): Promise<void> {
    const [on, accountId, priced] = [itemOf(this.workers, worker), this.accountAt(i), this.priced]
    const units = this.unitsOf(part)
    const keyId = accountId.replace('acct', 'key')
    const answers = await Promise.all(Array.from({ length: count }, () => on.take(accountId, keyId, units, priced)))
    for (const answer of answers) this.taken(answer, on, priced)
  }

  /** By a worker, as Redis keeps the holds of jobs. */
  private async holdSingly(accountId: string, units: number): Promise<void> {
    const [on, priced] = [itemOf(this.workers, 0), this.priced]
    this.taken(await on.takeSingly(accountId, accountId.replace('acct', 'key'), units, priced), on, priced)
  }

  private taken(answer: LeasedRequest | GatewayError, worker: LeasingWorker, priced: Priced): void {
    if (answer instanceof GatewayError) {
      assert.equal(answer.code, 'insufficient_balance')
      return
    }
    this.prices.set(answer.requestId, priced)
    this.leased.push({ request: answer, worker })
  }

  private async end(at: number, part: number): Promise<void> {
    const [ended] = this.leased.splice(at % Math.max(1, this.leased.length), 1)
    if (ended !== undefined) await ended.worker.end(ended.request, Math.floor(ended.request.heldUnits * part))
  }

  private async hold(accountId: string, units: number): Promise<void> {
    const requestId = newId('req')
    this.proxy.coinUsdUnits = this.priced.coinUsdUnits
    const { code, units: held } = await this.proxy.hold(accountId, requestId, units, 1)
    if (code !== HoldCode.OK) return
    this.prices.set(requestId, this.priced)
    this.held.push({ requestId, accountId, units: held })
  }

  private async settle(at: number, part: number): Promise<void> {
    const [held] = this.held.splice(at % Math.max(1, this.held.length), 1)
    if (held === undefined) return
    const { requestId, accountId, units } = held
    const chargeUnits = Math.floor(units * part)
    const { code } = await this.proxy.settle(accountId, requestId, chargeUnits, units)
    if (code !== SettleCode.UNKNOWN) return
    const { sheetVersion } = this.prices.get(requestId) ?? assert.fail()
    const settlement = settlementOf({ requestId, accountId, holdUnits: units, chargeUnits, sheetVersion })
    await settleLost(book.redis, book.pool, settlement, limits)
  }

  private async move(kind: 'link' | 'pay' | 'withdraw', accountId: string, nanos: number): Promise<void> {
    const units = valueOfCoin(nanos, this.priced.coinUsdUnits)
    if (units === 0) return
    const amount = { accountId, nanos, units }
    const other = this.accountAt(accountId === this.accountAt(0) ? 1 : 0)
    const work = (transaction: UndoableTransaction) => this.moveWithin(transaction, kind, amount, other)
    const refusal = await withUndo(book.pool, () => {}, work).catch((error: unknown) => error)
    assert.equal(refusal instanceof GatewayError ? refusal.code : refusal, refusal && 'insufficient_balance')
    if (refusal !== undefined) return
    this.add(accountId, -nanos)
    if (kind === 'pay') this.add(other, nanos)
  }

  private async moveWithin(
    transaction: UndoableTransaction,
    kind: 'link' | 'pay' | 'withdraw',
    amount: { accountId: string; nanos: number; units: number },
    other: string,
  ): Promise<void> {
    const { client } = transaction
    const { accountId: owner, nanos } = amount
    if (kind === 'link') {
      const link = { ...amount, note: '', expiresAtMs: Date.now() + 86_400_000 }
      const made = await createLink(transaction, debits, GATEWAY, link)
      this.links.push({ id: made.link.id, token: made.token, owner, nanos })
    } else if (kind === 'pay') {
      await debits.move(transaction, { ...amount, id: newId('pay'), kind: 'agent_pay', to: { accountId: other } })
    } else {
      const id = newId('wdr')
      await debits.move(transaction, { ...amount, id, kind: WITHDRAWAL, to: { ledgerAccount: ESCROW_COIN } })
      const [wallet, token] = [`0x${'1'.repeat(40)}`, `0x${'2'.repeat(40)}`] as const
      await insertWithdrawal(client, { ...amount, id, wallet, asset: 'coin', token, amount: BigInt(nanos) })
    }
  }

  /** The same coin comes out of a link, whatever the price is by then. */
  private async endLink({
    kind,
    place: at,
    account: i,
  }: Extract<CoinStep, { kind: 'claim' | 'cancel' }>): Promise<void> {
    const [link] = this.links.splice(at % Math.max(1, this.links.length), 1)
    if (link === undefined) return
    const to = kind === 'claim' ? this.accountAt(i) : link.owner
    await withTransaction(book.pool, (client) =>
      kind === 'claim' ? claimLink(client, GATEWAY, link.token, to) : cancelLink(client, GATEWAY, link.id, to),
    )
    this.add(to, link.nanos)
  }

  private async flush(): Promise<void> {
    await book.redis.flushall()
    await openAdmission()
  }

  private add(accountId: string, nanos: number): void {
    this.nanos.set(accountId, (this.nanos.get(accountId) ?? 0) + nanos)
  }

  private async reckonCharges(): Promise<void> {
    const accounts = [...this.nanos.keys()].map(coinAccount)
    const found = await book.pool.query<{ ref: string; debit: string; units: number; nanos: number }>(
      `SELECT ref, debit, units, coalesce(coin_nanos, units) AS nanos FROM transfers
       WHERE kind = 'charge' AND debit = ANY ($1::text[])`,
      [accounts],
    )
    for (const { ref, debit, units, nanos } of found.rows) {
      const { coinUsdUnits } = this.prices.get(ref) ?? assert.fail(`${ref} was never held`)
      assert.equal(nanos, coinFor(units, coinUsdUnits), `${units} units at ${formatUsd(coinUsdUnits)}`)
      this.add(debit.slice('coin:'.length), -nanos)
    }
  }
}

test('a balance of coin keeps its number of coin when the price changes', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(coinStep, { minLength: 20, maxLength: 60 }), async (steps) => {
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
