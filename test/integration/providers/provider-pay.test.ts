// Goal: every receipt of a registered provider is paid for exactly once and by the terms of its time, however settlement,
// admissions and several payers interleave. Method: random steps at once over the parts of control without HTTP; what is
// due is computed again from the receipts in plain arithmetic.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import { DAY_MS } from '../../../contract/api/time.ts'
import { bookEntries } from '../../../control/book/settlement/bookEntries.ts'
import { openNewAccount } from '../../../control/identity/accounts/accounts.ts'
import { type Pay, PPM } from '../../../control/products/marketplace/serving/admission.ts'
import { AdmissionError, admitProvider } from '../../../control/products/marketplace/serving/admit.ts'
import { noteMeasures } from '../../../control/products/marketplace/serving/measures.ts'
import { payProviders } from '../../../control/products/marketplace/serving/payProviders.ts'
import { closeDays, readRecords } from '../../../control/products/marketplace/serving/record.ts'
import { OPERATOR } from '../../../control/runtime/activity/activity.ts'
import { withTransaction } from '../../../control/runtime/db/pool.ts'
import { ledgerLimits as limits } from '../../support/limits.ts'
import { type Book, scalar } from '../../support/parts/ledger.ts'
import {
  admit,
  charge,
  failed,
  MODEL,
  payAll,
  register,
  retire,
  startProviderBook,
  TERMS,
} from '../../support/parts/providerBook.ts'
import { rounds } from '../../support/rounds.ts'

let book: Book
before(async () => {
  book = await startProviderBook()
})
after(() => book.stop())

interface Served {
  readonly request_id: string
  readonly charge_units: number
  /** The part of the charge that was paid in coin. */
  readonly coin_units: number
  readonly input_tokens: number
  readonly cached_input_tokens: number
  readonly output_tokens: number
}

/** What is due for receipts by one kind of pay, in 1/1000000 units. */
function dueMicros(pay: Pay, receipts: readonly Served[]): bigint {
  return receipts.reduce((sum, { charge_units: charged, coin_units: coin, ...tokens }) => {
    if (charged === 0) return sum
    if (pay.kind === 'share') return sum + BigInt(coin) * BigInt(pay.ppm)
    const cost =
      BigInt(tokens.input_tokens) * BigInt(pay.input) +
      BigInt(tokens.cached_input_tokens) * BigInt(pay.cachedInput) +
      BigInt(tokens.output_tokens) * BigInt(pay.output)
    const most = BigInt(coin) * BigInt(PPM)
    return sum + (cost < most ? cost : most)
  }, 0n)
}

const receiptsOf = async (provider: string): Promise<readonly Served[]> =>
  (
    await book.pool.query<Served>(
      `SELECT r.*, coalesce(t.units, 0) AS coin_units FROM receipts r
       LEFT JOIN transfers t ON t.ref = r.request_id AND t.kind = 'charge' AND t.debit = 'coin:' || r.account_id
       WHERE r.provider = $1 ORDER BY r.request_id`,
      [provider],
    )
  ).rows

const pay: fc.Arbitrary<Pay> = fc.oneof(
  fc.record({ kind: fc.constant('share' as const), ppm: fc.integer({ min: 0, max: PPM }) }),
  fc.record({
    kind: fc.constant('price' as const),
    input: fc.nat(2_000_000_000),
    cachedInput: fc.nat(2_000_000_000),
    output: fc.nat(2_000_000_000),
  }),
)
const charges = fc.array(fc.tuple(fc.nat(3_333), fc.nat(5_000), fc.constantFrom(0, 0, 1, 777)), {
  minLength: 1,
  maxLength: 7,
})
const step = fc.oneof(
  fc.record({ kind: fc.constant('charge' as const), charges }),
  fc.record({ kind: fc.constant('other' as const), charges }),
  fc.record({ kind: fc.constant('pay' as const) }),
)

test('the provider is paid once for every receipt by its terms, in any interleaving', async () => {
  const batches = fc.array(fc.array(step, { minLength: 1, maxLength: 6 }), { minLength: 2, maxLength: 6 })
  await fc.assert(
    fc.asyncProperty(batches, batches, pay, pay, async (first, second, before, since) => {
      const earner = await openNewAccount(book.pool, limits)
      // Without enough of either, so that the house bears a part now and then.
      const accountId = await openNewAccount(book.pool, limits, { coinNanos: 60_000, creditUnits: 5_000 })
      const grantId = await scalar<string>(book.pool, 'SELECT id FROM grants WHERE account_id = $1', [accountId])
      const provider = await register(book, earner)
      const run = async (plan: typeof first): Promise<void> => {
        for (const batch of plan) {
          await Promise.all(
            batch.map(async (next) => {
              if (next.kind === 'pay') await payProviders(book.pool, limits)
              else {
                const by = next.kind === 'charge' ? provider : 'acme'
                const made = next.charges.map(([coin, tokens, credits]) =>
                  charge(accountId, by, { coin, credits, grantId }, tokens),
                )
                await bookEntries(book.pool, made)
              }
            }),
          )
        }
      }
      await admit(book, provider, before)
      await run(first)
      const early = await receiptsOf(provider)
      await retire(book, provider)
      await new Promise((resolve) => setTimeout(resolve, 2))
      const { id } = await admit(book, provider, since)
      const border = await scalar<string>(book.pool, 'SELECT from_id FROM provider_admissions WHERE id = $1', [id])
      await run(second)
      await Promise.all([payAll(book), payAll(book), payAll(book)])
      assert.deepEqual(await failed(book), [])
      assert.ok(early.every(({ request_id }) => request_id < border))
      const late = (await receiptsOf(provider)).filter(({ request_id }) => request_id >= border)
      const due = dueMicros(before, early) / BigInt(PPM) + dueMicros(since, late) / BigInt(PPM)
      const coin = `SELECT balance FROM ledger_accounts WHERE id = 'coin:' || $1`
      assert.equal(BigInt(await scalar<number>(book.pool, coin, [earner])), due)
    }),
    { numRuns: rounds({ short: 4, long: 60 }), endOnFailure: true },
  )
})

test('a day is published once it is over, and only if enough accounts were served on it', async () => {
  const day = Math.floor(Date.now() / DAY_MS) - 1
  const provider = await register(book, await openNewAccount(book.pool, limits))
  await admit(book, provider, { kind: 'share', ppm: 1 })
  const measure = { provider, model: MODEL, requests: 9, errors: 1, stalls: 0, overReports: 0, timed: 4, slow: 0 }
  await noteMeasures(book.pool, [{ ...measure, firstOutputMs: 400 }], day * DAY_MS + 5)
  const told = async () => {
    await closeDays(book.pool, Date.now(), limits)
    return (await readRecords(book.pool, [provider], Date.now(), limits)).get(provider)?.[0]
  }
  for (let accounts = 1; accounts <= limits.statsAccountsMin; accounts++) {
    assert.equal((await told())?.requests, null)
    const accountId = await openNewAccount(book.pool, limits, { coinNanos: 10 })
    await bookEntries(book.pool, [charge(accountId, provider, { coin: 1 }, 1, day * DAY_MS + 5)])
  }
  const { requests, error_rate, first_output_ms } = (await told()) ?? assert.fail()
  assert.deepEqual([requests, error_rate, first_output_ms], [9, 0.111111, 100])
})

test('only offered models on listed routes are admitted, and once', async () => {
  const earner = await openNewAccount(book.pool, limits)
  const [offered, kept] = [await register(book, earner), await register(book, earner, false)]
  const share = { kind: 'share', ppm: 1 } as const
  const refused = (message: RegExp) => (error: unknown) =>
    error instanceof AdmissionError && message.test(error.message)
  await assert.rejects(admit(book, kept, share), refused(/not offered/))
  await assert.rejects(admit(book, 'prov_none', share), refused(/no provider/))
  await assert.rejects(admit(book, offered, share, MODEL, 'missing'), refused(/does not list/))
  await assert.rejects(admit(book, offered, share, 'acme/none'), refused(/no model/))
  await assert.rejects(admit(book, offered, share, 'acme/off'), refused(/no enabled route/))
  await assert.rejects(admit(book, offered, share, 'acme/image'), refused(/not a chat model/))
  await assert.rejects(admit(book, offered, share, 'acme/attested'), refused(/attested/))
  await admit(book, offered, share)
  await assert.rejects(admit(book, offered, share), refused(/admitted for .* already/))
  const greedy = { ...TERMS, pay: share, fullPpm: PPM }
  const admitGreedy = withTransaction(book.pool, async (client) =>
    admitProvider(client, OPERATOR, await register(book, earner), { model: MODEL, upstreamModel: MODEL }, greedy),
  )
  await assert.rejects(admitGreedy, refused(/lower --full/))
})
