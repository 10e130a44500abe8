import { coinFor } from '../../../contract/money/coin.ts'
import { isRefundedWhole, settlementFee } from '../../../contract/money/settlementFee.ts'
import { tagsText, userText } from '../../../contract/money/tags.ts'
import { payerAccountId } from '../../../contract/payments/payerAccount.ts'
import { coinPartText } from '../../../contract/wire/coinPart.ts'
import type { sluice } from '../../../contract/wire/generated/messages.js'
import { newId } from '../../../contract/wire/ids.ts'
import { shardOf } from '../../../contract/wire/redisKeys.ts'
import { consistencyProof, lastCheckpoint } from '../../../control/book/checkpoint/checkpointReads.ts'
import { generateNoteKey, NoteKey } from '../../../control/book/checkpoint/noteKey.ts'
import { signCheckpoint } from '../../../control/book/checkpoint/signCheckpoint.ts'
import { leafText, type Receipt } from '../../../control/book/receipt/generated/receipt.ts'
import { bookEntries } from '../../../control/book/settlement/bookEntries.ts'
import type { Entry } from '../../../control/book/settlement/entry.ts'
import { parseEntries } from '../../../control/book/settlement/openEntry.ts'
import { LOG_COUNT } from '../../../control/book/usagelog/head.ts'
import { leafHash } from '../../../control/book/usagelog/merkle.ts'
import { publishCatalog } from '../../../control/catalog/pricing/publish.ts'
import { sheetJson } from '../../../control/catalog/pricing/sheetReads.ts'
import { remainderOf } from '../../../control/products/payments/x402/remainder.ts'
import { ReceiptReader } from '../../../control/records/receipts/receiptReader.ts'
import { PAID_QUERY, type PaidRow } from '../../../control/records/receipts/receiptRow.ts'
import type { Queryable } from '../../../control/runtime/db/pool.ts'
import { type Catalog, decodeCatalog } from '../../../proxy/catalog/catalog.ts'
import { limitsWith } from '../limits.ts'
import { present } from '../present.ts'
import { type Random, randomCatalog } from '../samples/randomCatalogs.ts'
import { KINDS, type RandomRequest, randomRequest } from '../samples/randomRequests.ts'
import { batchOf, endedOf } from './endings.ts'
import { type Book, newAccount, startBook } from './ledger.ts'
import { type PlantedSeries, plantHolding, plantSeries } from './lockPots.ts'

const SHEETS = 3
const ACCOUNTS = 8
const BATCH = 125
/** Longer than the promise of a sheet. */
const BETWEEN_SHEETS_MS = 40 * 86_400_000
/** Much more than all requests cost, and much less than an account can hold. */
const FUNDS = 1_000_000_000_000_000
const limits = limitsWith({ checkpointMs: 0 })

const SERIES = {
  model: 'test/chat',
  price: { input: '0.5', output: '1', cached_input: '0.1' },
  supplyTokens: 9_000_000,
}

/** A receipt of the book. */
export interface Booked {
  readonly requestId: string
  readonly request: RandomRequest
  /** Of its leaf. */
  readonly layout: 1 | 2
  readonly isPaid: boolean
  /** Charged more than its price sheet says. */
  readonly isTooDear: boolean
}

/** A book of random requests at random prices, all of it made by control's own code. */
export class VerifiedBook {
  readonly book: Book
  /** What the signatures of checkpoints are checked with. */
  readonly verifier: string
  /** The text of the series whose tokens are burnt. */
  readonly lock: string
  /** When the next requests begin, by their ids; now where it is undefined. */
  requestsAtMs: number | undefined
  private readonly key: NoteKey
  private readonly random: Random
  private readonly catalogs: readonly Catalog[]
  private readonly accounts: readonly string[]
  private readonly paid = new Map<string, PaidRow>()
  private readonly reader: ReceiptReader
  private batches = 0
  private made = 0

  private constructor(
    book: Book,
    random: Random,
    catalogs: readonly Catalog[],
    accounts: readonly string[],
    series: PlantedSeries,
  ) {
    const { id, model, microUnits, price } = series
    this.lock = JSON.stringify({ id, model, locked_price: { units: String(microUnits * 1_000_000) }, price })
    this.book = book
    this.random = random
    this.catalogs = catalogs
    this.accounts = accounts
    this.key = NoteKey.of(generateNoteKey('gateway.example.com/v1/log'))
    this.verifier = this.key.verifier()
    this.reader = new ReceiptReader(this.withPayments(), book.redis, limits)
  }

  static async start(random: Random): Promise<VerifiedBook> {
    const book = await startBook()
    const series = await plantSeries(book.pool, SERIES)
    // Its providers prove no hardware, as those of receipts from before reports were named.
    await book.pool.query(
      `INSERT INTO unattested_receipts (log, until_position) SELECT log, $2 FROM generate_series(0, $1 - 1) AS log
       ON CONFLICT (log) DO UPDATE SET until_position = excluded.until_position`,
      [LOG_COUNT, Number.MAX_SAFE_INTEGER],
    )
    const catalogs: Catalog[] = []
    for (let version = 1; version <= SHEETS; version++) {
      const publishedMs = Date.now() - (SHEETS - version) * BETWEEN_SHEETS_MS
      const { record } = await publishCatalog(book.pool, randomCatalog(random), limits, publishedMs)
      catalogs.push(decodeCatalog(record, {}))
    }
    const accounts = await Promise.all(Array.from({ length: ACCOUNTS }, () => newAccount(book.pool, FUNDS)))
    for (const account of accounts) await plantHolding(book.pool, series, account, FUNDS)
    return new VerifiedBook(book, random, catalogs, accounts, series)
  }

  /** Books requests of every kind by turns. */
  async bookSome(count: number): Promise<Booked[]> {
    const booked: Booked[] = []
    while (booked.length < count) {
      booked.push(...(await this.bookBatch(Math.min(BATCH, count - booked.length))))
    }
    return booked
  }

  /** Signs what is booked. @returns the checkpoint, and its size */
  async sign(): Promise<{ note: string; size: number }> {
    await signCheckpoint(this.book.pool, this.key, limits)
    return present(await lastCheckpoint(this.book.pool))
  }

  /** The text of GET /v1/log/consistency. */
  async consistency(from: number, to: number): Promise<string> {
    const proof = present(await consistencyProof(this.book.pool, from, to))
    return JSON.stringify({ object: 'consistency_proof', from, to, proof })
  }

  /** The text of the receipt as anybody reads it, or as its key does, which also sees its tags. */
  async receipt(requestId: string): Promise<string> {
    if (this.random() < 0.5) return this.reader.single(requestId, '')
    const found = await this.book.pool.query<{ key: string }>(
      'SELECT key_id AS key FROM receipts WHERE request_id = $1',
      [requestId],
    )
    return this.reader.single(requestId, present(found.rows[0]).key)
  }

  /** The text of the price sheet of a request. */
  sheet({ settlement }: RandomRequest): Promise<string> {
    return sheetJson(this.book.pool, present(settlement.sheetVersion ?? undefined))
  }

  private async bookBatch(count: number): Promise<Booked[]> {
    const accountId = present(this.accounts[this.batches % this.accounts.length])
    const booked = Array.from({ length: count }, () => this.newRequest())
    const endings = booked.map((one) => this.ending(accountId, one))
    const raw = { shard: shardOf(accountId), id: `${++this.batches}-1` }
    const batch = batchOf(newId('own'), 1, endings)
    const entries = parseEntries([{ ...raw, fields: [Buffer.from('b'), batch] }])
    const { receipts, rejects, shortfallUnits } = await bookEntries(
      this.book.pool,
      entries.map((entry, at) => (present(booked[at]).layout === 1 ? this.inFirstLayout(entry) : entry)),
    )
    if (receipts !== count || shortfallUnits > 0) throw new Error(`booked ${receipts}: ${rejects[0]?.reason}`)
    return booked
  }

  private newRequest(): Booked {
    const { random } = this
    const kind = present(KINDS[this.made++ % KINDS.length])
    const catalog = present(this.catalogs[Math.floor(random() * this.catalogs.length)])
    const isTooDear = kind === 'chat' && random() < 0.2
    const request = randomRequest(random, catalog, kind)
    const booked = {
      requestId: newId('req', this.requestsAtMs),
      request: isTooDear ? dearer(request) : request,
      layout: random() < 0.1 && kind !== 'lock' ? 1 : 2,
      isPaid: random() < 0.15 && kind !== 'lock',
      isTooDear,
    } as const
    if (booked.isPaid) this.paid.set(booked.requestId, this.payment(booked.request))
    return booked
  }

  private ending(accountId: string, { requestId, request, isPaid, layout }: Booked): Buffer {
    const { random } = this
    const { charge, settlement } = request
    const { sheet, models } = present(this.catalogs[(settlement.sheetVersion ?? 1) - 1])
    const { coinUsdUnits } = sheet
    const route = models.get(settlement.model ?? '')?.routes[0]
    const { lockSeries, lockUnits } = settlement
    const burnt = lockSeries ? [`${lockSeries}=${lockUnits}`] : []
    const coin = { coinUnits: charge, coinNanos: coinFor(Math.max(charge, 0), coinUsdUnits) }
    const split = [...burnt, ...(charge > 0 ? [`coin=${coinPartText(coin)}`] : [])].join(',')
    const tagged = layout === 1 || random() < 0.7 ? {} : randomTags(random)
    const payer = isPaid ? { keyId: payerAccountId(present(this.paid.get(requestId)).payer as `0x${string}`) } : {}
    return endedOf({
      accountId,
      requestId,
      charge,
      split,
      settlement: { ...(route && { provider: route.provider.id }), ...settlement, ...payer, ...tagged },
    })
  }

  /** As receipts were booked before the log committed to all that they show; many did not even know it. */
  private inFirstLayout(entry: Entry): Entry {
    if (entry.kind !== 'ended') throw new Error('the ending cannot be read')
    const old: Receipt = { ...entry.receipt, leafLayout: 1 }
    const receipt = this.random() < 0.5 ? old : { ...old, rate: '' as const, tier: '' as const, size: '' }
    return { ...entry, receipt: { ...receipt, leafHash: leafHash(leafText(receipt)) } }
  }

  /** A payment for a request, and what control makes of it once the request has ended; of some that is not known yet. */
  private payment({ charge, settlement }: RandomRequest): PaidRow {
    const { random } = this
    const costUnits = Math.max(charge, 0)
    const units = costUnits + Math.ceil(random() * 1_000_000)
    const minUnits = random() < 0.5 ? 0 : Math.floor(random() * units)
    const status = charge < 0 ? 'failed' : 'ok'
    const errorCode = settlement.errorCode ?? ''
    const feeUnits = settlementFee({ units, minUnits, costUnits, status, errorCode })
    const ended = {
      amount: BigInt(Math.ceil(units / 1_000)),
      units,
      chargeUnits: costUnits + feeUnits,
      voided: isRefundedWhole({ status, errorCode }),
      creditUnits: Math.floor(random() * 1_000_000),
    }
    const { backUnits, backAmount, usedUnits, keptUnits, leftUnits } = remainderOf(
      ended,
      { decimals: 6, usdUnits: 1_000_000_000 },
      Math.floor(random() * 1_000_000),
    )
    const isKnown = random() < 0.8
    return {
      units,
      minUnits,
      asset: 'stablecoin',
      token: `0x${'ab'.repeat(20)}`,
      amount: String(ended.amount),
      chainId: 8453,
      payer: `0x${'12'.repeat(20)}`,
      hash: `0x${'cd'.repeat(32)}`,
      agent: '',
      backUnits: isKnown ? backUnits : null,
      backAmount: isKnown ? String(backAmount) : null,
      creditUsedUnits: usedUnits,
      creditKeptUnits: keptUnits,
      creditLeftUnits: leftUnits,
      refundHash: null,
    }
  }

  /** The book, with payments that are on no chain. */
  private withPayments(): Queryable {
    const { pool } = this.book
    const query = (text: unknown, values?: readonly unknown[]) => {
      if (text !== PAID_QUERY) return pool.query(text as string, values as unknown[])
      return Promise.resolve({ rows: [this.paid.get(String(values?.[0]))] })
    }
    return { query } as unknown as Queryable
  }
}

/** The same request at a unit more, from a gateway that cheats. */
function dearer(request: RandomRequest): RandomRequest {
  const charge = request.charge + 1
  const holdUnits = Math.max(charge, request.settlement.holdUnits ?? 0)
  return { ...request, charge, settlement: { ...request.settlement, chargeUnits: charge, holdUnits } }
}

/** A user and tags as a settlement has them, one of them at least. */
function randomTags(random: () => number): Pick<sluice.ISettlement, 'endUser' | 'tags' | 'tagsSalt'> {
  const pairs = [
    ['team', 'search'],
    ['a, b=c', 'ä %'],
    ['__proto__', ''],
  ].filter(() => random() < 0.5)
  const tags = tagsText(pairs as [string, string][], 'tags', limits)
  const endUser = tags === '' || random() < 0.5 ? userText('alice@example.com', 'user', limits) : ''
  return { endUser, tags, tagsSalt: `salt_${Math.floor(random() * 2 ** 32)}` }
}
