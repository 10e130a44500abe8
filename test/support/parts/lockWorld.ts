import assert from 'node:assert/strict'
import { createPool, type Pool } from '../../../control/runtime/db/pool.ts'
import { awayFromMidnight } from '../awayFromTheHour.ts'
import { chat, type Receipt } from '../clients/chatClient.ts'
import { limits } from '../limits.ts'
import { present } from '../present.ts'
import { type AccountOptions, type Stack, type StackOptions, startStack, type TestAccount } from '../stack.ts'
import type { TestModel } from '../testCatalog.ts'
import { until } from '../until.ts'
import { holdingKnown, type PlantedSeries, plantHolding, plantSeries } from './lockPots.ts'

export const LOCK_MODEL = 'test/exact'
export const OUTPUT_TOKENS = 10
/** 'hello' is held as 3 tokens, with 8 for the message and 16 for the request. */
const PROMPT_TOKENS = 27
/** Of a request at the sheet. */
export const SHEET_UNITS = PROMPT_TOKENS * 1_000 + OUTPUT_TOKENS * 2_000
/** At 0.5 and 1 USD a million 23,500 units, which are 24 micro-tokens of 1,000 units. */
export const LOCK_UNITS = 24_000
/** A model of the mock provider whose answers cost what was held for them. */
export const EXACT = `mock,prompt=${PROMPT_TOKENS},completion=${OUTPUT_TOKENS}`

export type LockReceipt = Receipt & { readonly lock?: { series: string; tokens: string; units: string } }
export const LOCK_BODY = { model: LOCK_MODEL, max_tokens: OUTPUT_TOKENS }

/** A stack with a model that two providers serve, and a series of it at the second one. */
export class LockWorld {
  readonly stack: Stack
  readonly pool: Pool
  readonly series: PlantedSeries

  private constructor(stack: Stack, pool: Pool, series: PlantedSeries) {
    this.stack = stack
    this.pool = pool
    this.series = series
  }

  /**
   * @param upstream the model that the providers are asked for
   * @param more models beside it
   */
  static async start(
    upstream: string,
    options: StackOptions = {},
    more: readonly TestModel[] = [],
  ): Promise<LockWorld> {
    // Its series is of this month.
    await awayFromMidnight()
    const routes = ['other', 'mock'].map((provider) => ({ provider, model: upstream }))
    const stack = await startStack({
      ...options,
      limits: { catalogCheckMs: 200, ...options.limits },
      catalog: { providers: [{ id: 'mock' }, { id: 'other' }], models: [{ id: LOCK_MODEL, routes }, ...more] },
    })
    const pool = createPool(stack.databaseUrl, limits)
    const world = new LockWorld(stack, pool, await plantSeries(pool, { model: LOCK_MODEL }))
    await world.known(world.series, (options.proxies ?? 1) * (options.workers ?? 1))
    return world
  }

  async finish(): Promise<void> {
    await this.pool.end()
    await this.stack.finish()
  }

  /** The receipt of a request that is answered in one piece. */
  async ask(account: TestAccount, body = {}, baseUrl: string = this.stack.baseUrl): Promise<LockReceipt> {
    const reply = await chat(baseUrl, account.apiKey, { ...LOCK_BODY, ...body })
    assert.equal(reply.status, 200, reply.text)
    return (JSON.parse(reply.text) as { receipt: LockReceipt }).receipt
  }

  /** An account that holds tokens, once requests can burn them. @param soldNanos what it has paid for them */
  async holder(units: number, options: AccountOptions = {}, soldNanos = 0, series = this.series): Promise<TestAccount> {
    const account = await this.stack.createAccount(options)
    await plantHolding(this.pool, series, account.accountId, units, soldNanos)
    await this.stack.withAnyRedis((redis) => holdingKnown(redis, account.accountId, series))
    return account
  }

  async balanceOf(ledgerAccount: string): Promise<number> {
    const found = await this.pool.query<{ balance: number }>('SELECT balance FROM ledger_accounts WHERE id = $1', [
      ledgerAccount,
    ])
    return present(found.rows[0]).balance
  }

  /** Waits until every process of the proxies knows a series. */
  async known(series: PlantedSeries, processes = 1): Promise<void> {
    const probe = await this.holder(1_000 * LOCK_UNITS, {}, 0, series)
    for (const baseUrl of this.stack.baseUrls) {
      let burnt = 0
      await until('the series is known', async () => {
        burnt = (await this.ask(probe, {}, baseUrl)).lock === undefined ? 0 : burnt + 1
        return burnt >= 8 * processes
      })
    }
  }
}
