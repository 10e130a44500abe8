// Goal: every receipt of a registered provider is paid for exactly once and by the terms of its time, however settlement,
// admissions and several payers interleave, and the audit finds what does not agree. Method: random steps at once over the
// parts of control without HTTP; what is due is computed again from the receipts in plain arithmetic.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import { DAY_MS } from '../../../contract/api/time.ts'
import { sluice } from '../../../contract/wire/generated/messages.js'
import { newId } from '../../../contract/wire/ids.ts'
import { auditBook } from '../../../control/audit/runAudit.ts'
import { bookEntries } from '../../../control/book/settlement/bookEntries.ts'
import type { Entry } from '../../../control/book/settlement/entry.ts'
import { insertRecord, insertSheet } from '../../../control/catalog/pricing/sheetStore.ts'
import { openNewAccount } from '../../../control/customers/accounts/accounts.ts'
import { registerProvider } from '../../../control/customers/providers/providers.ts'
import { type Pay, PPM, type Terms } from '../../../control/customers/serving/admission.ts'
import { AdmissionError, admitProvider, retireProvider } from '../../../control/customers/serving/admit.ts'
import { noteMeasures } from '../../../control/customers/serving/measures.ts'
import { payProviders } from '../../../control/customers/serving/payProviders.ts'
import { closeDays, readRecords } from '../../../control/customers/serving/record.ts'
import { OPERATOR } from '../../../control/runtime/activity/activity.ts'
import { withTransaction } from '../../../control/runtime/db/pool.ts'
import { ledgerLimits as limits } from '../../support/limits.ts'
import { chargeEntry } from '../../support/parts/chargeEntry.ts'
import { type Book, scalar, startBook } from '../../support/parts/ledger.ts'
import { rounds } from '../../support/rounds.ts'

const MODEL = 'acme/chat-small'
const TERMS = {
  canaryPpm: 10_000,
  fullPpm: 10_000,
  probationMs: 0,
  probationRequests: 10,
  errorPpmMax: 20_000,
  firstOutputMaxMs: 1_000,
  mismatchPpmMax: 200_000,
} satisfies Omit<Terms, 'pay'>

let book: Book

before(async () => {
  book = await startBook()
  const { pool } = book
  const sheet = {
    version: 1,
    publishedAtMs: 1,
    validUntilMs: 2,
    contentHash: 'x',
    text: '{"coin":{"usd":"1"},"models":[]}',
  }
  await insertSheet(pool, sheet)
  const models = [
    { id: MODEL, modality: 'chat', routes: [{ provider: 'acme', model: 'm', enabled: true }] },
    { id: 'acme/off', modality: 'chat', routes: [{ provider: 'acme', model: 'm' }] },
    { id: 'acme/image', modality: 'image', routes: [{ provider: 'acme', model: 'm', enabled: true }] },
    {
      id: 'acme/attested',
      modality: 'chat',
      attested: true,
      routes: [{ provider: 'acme', model: 'm', enabled: true }],
    },
  ]
  const providers = [{ id: 'acme', baseUrl: 'https://acme.example/v1', dialect: 'openai' }]
  const record = { version: 1, coinUsdUnits: 1_000_000_000, providers, models }
  await insertRecord(pool, 1, Buffer.from(sluice.CatalogRecord.encode(record).finish()), 1)
})
after(() => book.stop())

/** A charge by a provider as it is read from a stream. */
function charge(accountId: string, provider: string, units: number, tokens: number, atMs?: number): Entry {
  const usage = { input: tokens, cachedInput: tokens % 7, output: tokens % 13 }
  return chargeEntry({ accountId, provider, chargeUnits: units, usage }, atMs)
}

async function register(accountId: string, offered = true): Promise<string> {
  const given = { accountId, name: 'Mine', baseUrl: `https://${newId('prov')}.example/v1`, models: [MODEL, 'other'] }
  const provider = { ...given, dialect: 'openai' as const, dataPolicy: 'none' as const, offered }
  return withTransaction(book.pool, async (client) => {
    return (await registerProvider(client, OPERATOR, provider, 'k', limits)).provider.id
  })
}

const admit = (id: string, pay: Pay, model = MODEL, upstream = MODEL) =>
  withTransaction(book.pool, (client) => admitProvider(client, OPERATOR, id, model, upstream, { ...TERMS, pay }))
const retire = (id: string) =>
  withTransaction(book.pool, (client) => retireProvider(client, OPERATOR, id, undefined, 'for new terms'))

async function payAll(): Promise<void> {
  while (await payProviders(book.pool, limits));
}

async function failed(): Promise<string[]> {
  const checks = await auditBook(book.pool, limits)
  return checks.filter((check) => !check.ok).map((check) => `${check.name}: ${check.detail}`)
}

interface Served {
  readonly request_id: string
  readonly charge_units: number
  readonly input_tokens: number
  readonly cached_input_tokens: number
  readonly output_tokens: number
}

/** What is due for receipts by one kind of pay, in 1/1000000 units. */
function dueMicros(pay: Pay, receipts: readonly Served[]): bigint {
  return receipts.reduce((sum, { charge_units: charged, ...tokens }) => {
    if (pay.kind === 'share') return sum + BigInt(charged) * BigInt(pay.ppm)
    const cost =
      BigInt(tokens.input_tokens) * BigInt(pay.input) +
      BigInt(tokens.cached_input_tokens) * BigInt(pay.cachedInput) +
      BigInt(tokens.output_tokens) * BigInt(pay.output)
    const most = BigInt(charged) * BigInt(PPM)
    return sum + (cost < most ? cost : most)
  }, 0n)
}

const receiptsOf = async (provider: string): Promise<readonly Served[]> =>
  (await book.pool.query<Served>('SELECT * FROM receipts WHERE provider = $1 ORDER BY request_id', [provider])).rows

const pay: fc.Arbitrary<Pay> = fc.oneof(
  fc.record({ kind: fc.constant('share' as const), ppm: fc.integer({ min: 0, max: PPM }) }),
  fc.record({
    kind: fc.constant('price' as const),
    input: fc.nat(2_000_000_000),
    cachedInput: fc.nat(2_000_000_000),
    output: fc.nat(2_000_000_000),
  }),
)
const charges = fc.array(fc.tuple(fc.nat(3_333), fc.nat(5_000)), { minLength: 1, maxLength: 7 })
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
      const accountId = await openNewAccount(book.pool, limits, { coinNanos: 10_000_000 })
      const provider = await register(earner)
      const run = async (plan: typeof first): Promise<void> => {
        for (const batch of plan) {
          await Promise.all(
            batch.map(async (next) => {
              if (next.kind === 'pay') await payProviders(book.pool, limits)
              else {
                const by = next.kind === 'charge' ? provider : 'acme'
                const made = next.charges.map(([units, tokens]) => charge(accountId, by, units, tokens))
                await bookEntries(book.pool, made)
              }
            }),
          )
        }
      }
      await admit(provider, before)
      await run(first)
      const early = await receiptsOf(provider)
      await retire(provider)
      await new Promise((resolve) => setTimeout(resolve, 2))
      const { id } = await admit(provider, since)
      const border = await scalar<string>(book.pool, 'SELECT from_id FROM provider_admissions WHERE id = $1', [id])
      await run(second)
      await Promise.all([payAll(), payAll(), payAll()])
      assert.deepEqual(await failed(), [])
      assert.ok(early.every(({ request_id }) => request_id < border))
      const late = (await receiptsOf(provider)).filter(({ request_id }) => request_id >= border)
      const due = dueMicros(before, early) / BigInt(PPM) + dueMicros(since, late) / BigInt(PPM)
      const coin = `SELECT balance FROM ledger_accounts WHERE id = 'coin:' || $1`
      assert.equal(BigInt(await scalar<number>(book.pool, coin, [earner])), due)
    }),
    { numRuns: rounds({ short: 8, long: 60 }), endOnFailure: true },
  )
})

test('a day is published once it is over, and only if enough accounts were served on it', async () => {
  const day = Math.floor(Date.now() / DAY_MS) - 1
  const provider = await register(await openNewAccount(book.pool, limits))
  await admit(provider, { kind: 'share', ppm: 1 })
  const measure = { provider, model: MODEL, requests: 9, errors: 1, stalls: 0, overReports: 0, timed: 4, slow: 0 }
  await noteMeasures(book.pool, [{ ...measure, firstOutputMs: 400 }], day * DAY_MS + 5)
  const told = async () => {
    await closeDays(book.pool, Date.now(), limits)
    return (await readRecords(book.pool, [provider], Date.now(), limits)).get(provider)?.[0]
  }
  for (let accounts = 1; accounts <= limits.statsAccountsMin; accounts++) {
    assert.equal((await told())?.requests, null)
    const accountId = await openNewAccount(book.pool, limits, { coinNanos: 10 })
    await bookEntries(book.pool, [charge(accountId, provider, 1, 1, day * DAY_MS + 5)])
  }
  const { requests, error_rate, first_output_ms } = (await told()) ?? assert.fail()
  assert.deepEqual([requests, error_rate, first_output_ms], [9, 0.111111, 100])
})

test('only offered models on listed routes are admitted, and once', async () => {
  const earner = await openNewAccount(book.pool, limits)
  const [offered, kept] = [await register(earner), await register(earner, false)]
  const share = { kind: 'share', ppm: 1 } as const
  const refused = (message: RegExp) => (error: unknown) =>
    error instanceof AdmissionError && message.test(error.message)
  await assert.rejects(admit(kept, share), refused(/not offered/))
  await assert.rejects(admit('prov_none', share), refused(/no provider/))
  await assert.rejects(admit(offered, share, MODEL, 'missing'), refused(/does not list/))
  await assert.rejects(admit(offered, share, 'acme/none'), refused(/no model/))
  await assert.rejects(admit(offered, share, 'acme/off'), refused(/no enabled route/))
  await assert.rejects(admit(offered, share, 'acme/image'), refused(/not a chat model/))
  await assert.rejects(admit(offered, share, 'acme/attested'), refused(/attested/))
  await admit(offered, share)
  await assert.rejects(admit(offered, share), refused(/admitted for .* already/))
  const greedy = { ...TERMS, pay: share, fullPpm: PPM }
  const admitGreedy = withTransaction(book.pool, async (client) =>
    admitProvider(client, OPERATOR, await register(earner), MODEL, MODEL, greedy),
  )
  await assert.rejects(admitGreedy, refused(/lower --full/))
})

/** What is done to the database, how it is undone, and the check that finds it. */
const TAMPERINGS = [
  [
    'UPDATE provider_admissions SET charged_units = charged_units + 1',
    'UPDATE provider_admissions SET charged_units = charged_units - 1',
    'counts once',
  ],
  [
    'UPDATE provider_admissions SET receipts = receipts + 1',
    'UPDATE provider_admissions SET receipts = receipts - 1',
    'counts once',
  ],
  [
    'UPDATE provider_admissions SET rest = (rest + 1) % 1000000',
    'UPDATE provider_admissions SET rest = (rest + 999999) % 1000000',
    'paid what is due',
  ],
  [
    'UPDATE provider_earnings SET units = units + 1',
    'UPDATE provider_earnings SET units = units - 1',
    'paid what is due',
  ],
  [
    'UPDATE provider_earnings SET due_micros = due_micros + 1',
    'UPDATE provider_earnings SET due_micros = due_micros - 1',
    'counts once',
  ],
  [
    "UPDATE transfers SET credit = 'house' WHERE kind = 'provider_share'",
    `UPDATE transfers t SET credit = 'coin:' || a.account_id FROM provider_admissions a
     WHERE kind = 'provider_share' AND ref LIKE a.id || ':%'`,
    'paid what is due',
  ],
  [
    'UPDATE provider_cursors SET position = position + 1',
    'UPDATE provider_cursors SET position = position - 1',
    'counts once',
  ],
  [
    "INSERT INTO transfers (kind, ref, debit, credit, units) VALUES ('provider_probe', 'prb_x', 'provider_cost', 'house', 1)",
    "DELETE FROM transfers WHERE ref = 'prb_x'",
    'comparison of a registered provider',
  ],
] as const

async function tamper(sql: string): Promise<void> {
  await withTransaction(book.pool, async (client) => {
    await client.query('SET LOCAL session_replication_role = replica')
    await client.query(sql)
  })
}

test('the audit finds pay that disagrees with the receipts', async () => {
  const [earner, accountId] = [
    await openNewAccount(book.pool, limits),
    await openNewAccount(book.pool, limits, { coinNanos: 1_000_000 }),
  ]
  const provider = await register(earner)
  await admit(provider, { kind: 'share', ppm: 333_333 })
  await bookEntries(book.pool, [charge(accountId, provider, 999, 10)])
  await payAll()
  assert.deepEqual(await failed(), [])
  for (const [change, undo, check] of TAMPERINGS) {
    await tamper(change)
    const found = await failed()
    assert.ok(
      found.some((line) => line.includes(check)),
      `${change}: ${found}`,
    )
    await tamper(undo)
  }
  assert.deepEqual(await failed(), [])
})
