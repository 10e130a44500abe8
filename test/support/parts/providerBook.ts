import { sluice } from '../../../contract/wire/generated/messages.js'
import { newId } from '../../../contract/wire/ids.ts'
import { shardOf } from '../../../contract/wire/redisKeys.ts'
import { auditBook } from '../../../control/audit/runAudit.ts'
import { type Entry, parseEntry } from '../../../control/book/settlement/entry.ts'
import { insertRecord, insertSheet } from '../../../control/catalog/pricing/sheetStore.ts'
import { registerProvider } from '../../../control/products/marketplace/providers/providers.ts'
import type { Pay, ProviderAdmission, Terms } from '../../../control/products/marketplace/serving/admission.ts'
import { admitProvider, retireProvider } from '../../../control/products/marketplace/serving/admit.ts'
import { payProviders } from '../../../control/products/marketplace/serving/payProviders.ts'
import { OPERATOR } from '../../../control/runtime/activity/activity.ts'
import { withTransaction } from '../../../control/runtime/db/pool.ts'
import { ledgerLimits as limits } from '../limits.ts'
import { type Book, settlementOf, startBook } from './ledger.ts'

/** A chat model that registered providers may be admitted for. */
export const MODEL = 'acme/chat-small'
export const TERMS = {
  canaryPpm: 10_000,
  fullPpm: 10_000,
  probationMs: 0,
  probationRequests: 10,
  errorPpmMax: 20_000,
  firstOutputMaxMs: 1_000,
  mismatchPpmMax: 200_000,
} satisfies Omit<Terms, 'pay'>

/** A book with a catalog in force, in which providers can be admitted. */
export async function startProviderBook(): Promise<Book> {
  const book = await startBook()
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
  return book
}

let entries = 0

/** How a charge is paid: units of coin, of a grant of credits, and beyond what the book has, which the house bears. */
export interface Paid {
  readonly coin: number
  readonly credits?: number
  readonly grantId?: string
}

/** A charge by a provider as it is read from a stream. */
export function charge(
  accountId: string,
  provider: string,
  { coin, credits = 0, grantId = '' }: Paid,
  tokens: number,
  atMs = Date.now(),
): Entry {
  const units = coin + credits
  const split = [...(credits > 0 ? [`${grantId}=${credits}`] : []), ...(coin > 0 ? [`coin=${coin}`] : [])].join(',')
  const shard = shardOf(accountId)
  const usage = { input: tokens, cachedInput: tokens % 7, output: tokens % 13 }
  const settlement = settlementOf({ requestId: newId('req', atMs), accountId, provider, chargeUnits: units, usage })
  const fields = ['e', settlement, 'c', String(units), 't', String(Date.now()), 's', split]
  const pairs = fields.map((field) => (typeof field === 'string' ? Buffer.from(field) : field))
  return parseEntry({ shard, id: `${Date.now()}-${++entries}`, fields: pairs })
}

/** Registers an endpoint of an account. @returns its id */
export async function register(book: Book, accountId: string, offered = true): Promise<string> {
  const given = { accountId, name: 'Mine', baseUrl: `https://${newId('prov')}.example/v1`, models: [MODEL, 'other'] }
  const provider = { ...given, dialect: 'openai' as const, dataPolicy: 'none' as const, offered }
  return withTransaction(book.pool, async (client) => {
    return (await registerProvider(client, OPERATOR, provider, 'k', limits)).provider.id
  })
}

export function admit(
  book: Book,
  id: string,
  pay: Pay,
  model: string = MODEL,
  upstream: string = MODEL,
): Promise<ProviderAdmission> {
  return withTransaction(book.pool, (client) =>
    admitProvider(client, OPERATOR, id, { model, upstreamModel: upstream }, { ...TERMS, pay }),
  )
}

export async function retire(book: Book, id: string): Promise<void> {
  await withTransaction(book.pool, (client) => retireProvider(client, OPERATOR, id, undefined, 'for new terms'))
}

/** Pays for all receipts that are not counted yet. */
export async function payAll(book: Book): Promise<void> {
  while (await payProviders(book.pool, limits));
}

/** The invariants of the book that do not hold, with details. */
export async function failed(book: Book): Promise<string[]> {
  const checks = await auditBook(book.pool, limits)
  return checks.filter((check) => !check.ok).map((check) => `${check.name}: ${check.detail}`)
}
