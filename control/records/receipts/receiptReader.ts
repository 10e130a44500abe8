import { setTimeout as sleep } from 'node:timers/promises'
import { GatewayError } from '../../../contract/errors/errors.ts'
import { type ReceiptPaid, receiptJson } from '../../../contract/money/receipt.ts'
import { isPayer } from '../../../contract/payments/payerAccount.ts'
import { isId } from '../../../contract/wire/ids.ts'
import type { Redis } from '../../../contract/wire/redis.ts'
import { shardOf } from '../../../contract/wire/redisKeys.ts'
import { proveHead, signedPlace } from '../../book/checkpoint/checkpointReads.ts'
import { requireKept } from '../../book/partitions/archives.ts'
import { idTimeMs } from '../../book/partitions/idTime.ts'
import { leafText, READ_COLUMNS, type ReceiptRow } from '../../book/receipt/generated/receipt.ts'
import { inclusionProof } from '../../book/usagelog/inclusionProof.ts'
import { CoinPrices } from '../../catalog/pricing/sheetReads.ts'
import type { Queryable } from '../../runtime/db/pool.ts'
import type { RecordsLimits } from '../limits.ts'
import { askProxies } from './askProxies.ts'
import { isUnderWay, isUnderWayAnywhere } from './isUnderWay.ts'
import { Places } from './places.ts'
import { type ReceiptQuery, receiptPage } from './receiptPage.ts'
import { PAID_QUERY, type PaidRow, paidOf, receiptFields } from './receiptRow.ts'

const POLL_MS = 40
const PAGE_DEFAULT = 20
/** The part of the places that questions of one key may take. */
const PART_OF_KEY = 0.75

/** Reads receipts from the book, with their place in the usage log. */
export class ReceiptReader {
  private readonly db: Queryable
  private readonly redis: Redis
  private readonly coins: CoinPrices
  /** Waiting occupies a place among the reads; half of those stay free for reads that need no waiting. */
  private readonly places: Places
  private readonly publicPlaces: Places
  private readonly limits: RecordsLimits

  constructor(db: Queryable, redis: Redis, limits: RecordsLimits) {
    this.limits = limits
    this.db = db
    this.redis = redis
    this.coins = new CoinPrices(db)
    const most = limits.rpcConcurrencyMax / 4
    this.places = new Places(most, most * PART_OF_KEY)
    this.publicPlaces = new Places(limits.receiptPublicAsksMax)
  }

  /**
   * One receipt with its proof, as JSON text. A request that just ended may not be in the book yet; this waits for it.
   * @param keyId the key that asks, or '' for the public read
   * @throws GatewayError receipt_not_found, receipt_archived, or permission_denied for a request of another key
   */
  async single(requestId: string, keyId: string): Promise<string> {
    if (!isId('req', requestId)) throw new GatewayError('receipt_not_found')
    const row =
      (await this.keptRow(requestId)) ??
      (await (keyId === '' ? this.awaitPublicRow(requestId) : this.awaitRow(requestId, keyId)))
    if (keyId !== '' && row.keyId !== keyId) throw new GatewayError('permission_denied')
    const place = await signedPlace(this.db, row.log, row.position)
    const [proof, signed] = await Promise.all([
      inclusionProof(this.db, row, place?.head),
      place && proveHead(this.db, row.log, place),
    ])
    if (proof === undefined) throw new Error(`receipt ${requestId} is not in usage log ${row.log}`)
    const { leaf, tree_size: treeSize, root, proof: path } = proof
    const log = {
      number: row.log,
      position: row.position,
      proof: { entry: leafText(row), leaf, treeSize, root, path, ...(signed && { signed }) },
    }
    const own = receiptFields(row, await this.coins.ofSheet(row.sheetVersion), log)
    // Anybody who has the id of a request may read its receipt, but not its user and its tags.
    const fields = keyId === '' && row.tagsHash !== '' ? { ...own, tagging: { hash: row.tagsHash } } : own
    const paid = await this.paid(row)
    return receiptJson(paid === undefined ? fields : { ...fields, paid })
  }

  /**
   * The receipt of a request without its proof, as JSON text; undefined where there is none. One that just ended is waited for.
   * @param accountId whose it must be; '' for any
   * @param keyId the same of the key
   * @throws GatewayError receipt_archived
   */
  async booked(requestId: string, accountId: string, keyId: string): Promise<string | undefined> {
    const row = (await this.keptRow(requestId)) ?? (await this.awaitRowOf(requestId, accountId))
    if (row === undefined) return undefined
    if ((keyId !== '' && row.keyId !== keyId) || !(await this.isOf(requestId, accountId))) return undefined
    const log = { number: row.log, position: row.position }
    return receiptJson(receiptFields(row, await this.coins.ofSheet(row.sheetVersion), log))
  }

  /** A page of receipts, newest first, as JSON text {object, data, has_more}. */
  async list(query: ReceiptQuery): Promise<string> {
    const limit = Math.min(query.limit === 0 ? PAGE_DEFAULT : query.limit, this.limits.receiptsPageMax)
    const rows = await receiptPage(this.db, query, limit + 1)
    const receipts: string[] = []
    for (const row of rows.slice(0, limit)) {
      const coinUsdUnits = await this.coins.ofSheet(row.sheetVersion)
      receipts.push(receiptJson(receiptFields(row, coinUsdUnits, { number: row.log, position: row.position })))
    }
    return `{"object":"list","data":[${receipts.join(',')}],"has_more":${rows.length > limit}}`
  }

  private async keptRow(requestId: string): Promise<ReceiptRow | undefined> {
    const row = await this.row(requestId)
    if (row === undefined) await requireKept(this.db, requestId, `${requestId}0`)
    return row
  }

  private async row(requestId: string): Promise<ReceiptRow | undefined> {
    const found = await this.db.query<ReceiptRow>({
      name: 'receipt_row',
      text: `SELECT ${READ_COLUMNS} FROM receipts WHERE request_id = $1`,
      values: [requestId],
    })
    return found.rows[0]
  }

  private async paid(row: ReceiptRow): Promise<ReceiptPaid | undefined> {
    if (!isPayer(row.keyId)) return undefined
    const found = await this.db.query<PaidRow>(PAID_QUERY, [row.requestId])
    return found.rows[0] && paidOf(found.rows[0])
  }

  private async isOf(requestId: string, accountId: string): Promise<boolean> {
    if (accountId === '') return true
    const sql = 'SELECT 1 FROM receipts WHERE request_id = $1 AND account_id = $2'
    return (await this.db.query(sql, [requestId, accountId])).rows.length > 0
  }

  /** @param accountId '' for any */
  private async awaitRowOf(requestId: string, accountId: string): Promise<ReceiptRow | undefined> {
    if (!isYounger(requestId, this.limits.holdAgeMaxMs)) return undefined
    const isInRedis = () =>
      accountId === ''
        ? isUnderWayAnywhere(this.redis, requestId, this.limits)
        : isUnderWay(this.redis, shardOf(accountId), requestId, this.limits)
    try {
      return await this.places.use(accountId, () => this.awaitKnown(requestId, isInRedis))
    } catch (error) {
      if (error instanceof GatewayError && error.row === 'receipt_not_found') return undefined
      throw error
    }
  }

  private async awaitRow(requestId: string, keyId: string): Promise<ReceiptRow> {
    if (!isYounger(requestId, this.limits.holdAgeMaxMs)) throw new GatewayError('receipt_not_found')
    const row = await this.places.use(keyId, () => this.awaitKnown(requestId, () => this.isUnderWay(requestId, keyId)))
    if (row === undefined) throw notYet()
    return row
  }

  /**
   * Public callers may ask for ids that never existed. Only a few ids that look recent are searched for at a time, each for a
   * while, because without the account every shard has to be searched.
   */
  private async awaitPublicRow(requestId: string): Promise<ReceiptRow> {
    if (!isYounger(requestId, this.limits.totalTimeoutMs)) throw new GatewayError('receipt_not_found')
    const row = await this.publicPlaces.use('', async () => {
      const untilMs = performance.now() + this.limits.receiptAskMs
      try {
        return await this.awaitKnown(requestId, () => isUnderWayAnywhere(this.redis, requestId, this.limits))
      } catch (error) {
        // The search is too much work to begin the next one as soon as all proxies have denied this id.
        await sleep(Math.max(untilMs - performance.now(), 0))
        throw error
      }
    })
    if (row === undefined) throw new GatewayError('receipt_not_found')
    return row
  }

  /** Waits for a row that Redis or a proxy process knows to come. @throws GatewayError receipt_not_found */
  private async awaitKnown(requestId: string, isInRedis: () => Promise<boolean>): Promise<ReceiptRow> {
    const isKnown = await eitherOf(isInRedis(), askProxies(this.redis, requestId, this.limits))
    if (isKnown) return this.pollRow(requestId)
    // A proxy process forgets booked requests, and this one may have been booked while the proxies were asked.
    const row = await this.row(requestId)
    if (row === undefined) throw new GatewayError('receipt_not_found')
    return row
  }

  private async pollRow(requestId: string): Promise<ReceiptRow> {
    const deadlineMs = performance.now() + this.limits.receiptWaitMs
    // The last poll begins after the deadline, so that bookings made while this process stalled are found.
    for (let isLast = false; !isLast; await sleep(POLL_MS)) {
      isLast = performance.now() >= deadlineMs
      const row = await this.row(requestId)
      if (row !== undefined) return row
    }
    throw notYet()
  }

  private async isUnderWay(requestId: string, keyId: string): Promise<boolean> {
    const key = await this.db.query<{ account_id: string }>('SELECT account_id FROM api_keys WHERE id = $1', [keyId])
    const accountId = key.rows[0]?.account_id
    return accountId !== undefined && isUnderWay(this.redis, shardOf(accountId), requestId, this.limits)
  }
}

/** Whether an id was made within this time; because of clock skew it may seem to lie in the future. */
function isYounger(requestId: string, ageMs: number): boolean {
  return Math.abs(Date.now() - idTimeMs(requestId)) < ageMs
}

function notYet(): GatewayError {
  const message = 'This request has not ended or is not booked yet; try again in a moment.'
  return new GatewayError('receipt_not_found', { message })
}

/** Whether one of two is true, as soon as one is. */
async function eitherOf(one: Promise<boolean>, other: Promise<boolean>): Promise<boolean> {
  const whenTrue = (promise: Promise<boolean>) => promise.then((isTrue) => isTrue || Promise.reject(isTrue))
  const both = Promise.all([one, other])
  // A failure after the answer is known is ignored.
  both.catch(() => {})
  return Promise.any([whenTrue(one), whenTrue(other)]).catch(async () => (await both).includes(true))
}
