import { type ErrorType, GatewayError } from '../../../contract/errors/errors.ts'
import { windowList } from '../../../contract/money/windows.ts'
import { capArguments, metCap } from '../../../contract/wire/caps.ts'
import type { Redis } from '../../../contract/wire/redis.ts'
import { accountKey, debitsKey, epochKey, keyCountersKey, shardOf } from '../../../contract/wire/redisKeys.ts'
import { HoldCode, type Script } from '../../../contract/wire/scripts.ts'
import { coinAccount } from '../../book/ledger/accounts.ts'
import { appendAdmissionEvent, lockAccounts } from '../../book/ledger/appendAdmissionEvent.ts'
import { requireRoom } from '../../book/ledger/coinRoom.ts'
import { postTransfers } from '../../book/ledger/postTransfers.ts'
import type { Spender } from '../../book/ledger/spender.ts'
import { addDebitUsage } from '../../book/settlement/keyUsage.ts'
import { beforeDeadline } from '../../runtime/beforeDeadline.ts'
import type { Client, Pool } from '../../runtime/db/pool.ts'
import type { UndoableTransaction } from '../../runtime/db/undoable.ts'
import { tryDebitLock } from '../debitLock.ts'
import type { AdmissionLimits } from '../limits.ts'
import { takeRecalling } from '../recall.ts'
import { controlScript } from '../scripts.ts'
import { keysText } from '../spendingKeys.ts'

/** The answer of takeDebit.lua. */
interface Taken {
  readonly code: number
  readonly left: number
  readonly nowMs: number
  /** The part of the account that is out in leases. */
  readonly out: number
}

/** An amount that is taken off an account in Redis: coin, or tokens of a holding. */
export interface Taking {
  /** New for every debit; names the transfer, too. */
  readonly id: string
  readonly accountId: string
  /** Integer of 1e-9 coin, positive; 0 for tokens. */
  readonly nanos: number
  /** Its worth now, for caps; for tokens, their worth at the locked price. Positive. */
  readonly units: number
  /** The series whose tokens are taken in place of coin, after its end only if it says so; tokens count against no caps. */
  readonly series?: { readonly id: string; readonly endsAtMs: number; readonly alsoEnded?: boolean }
  /** The API key that spends, when its caps count. */
  readonly spender?: Spender
  /** The class of the error when the account does not cover it; absent is that of the table. */
  readonly shortType?: ErrorType
}

/** Coin that leaves an account for another ledger account. */
export interface Debit extends Omit<Taking, 'series'> {
  /** The kind of the transfer. */
  readonly kind: string
  /** Where the coin goes: to another account, or to a ledger account of the gateway. */
  readonly to: { readonly accountId: string } | { readonly ledgerAccount: string }
}

/**
 * Moves coin out of an account other than by a request: the coin is taken in Redis, immediately and only when it is available, so
 * that no request can spend it as well; then it is booked with everything else that the caller's transaction does.
 *
 * In every case, the table `debits` decides between two outcomes, and the first row wins: the debit is booked, and an event of
 * the outbox ends it in Redis; or it is voided, and Redis gives the coin back. When a process dies after the taking, the
 * loop of `debitKeeper` decides.
 */
export class Debits {
  private readonly pool: Pool
  private readonly redis: Redis
  private readonly takeScript: Script
  private readonly giveBack: Script
  private readonly limits: AdmissionLimits

  constructor(pool: Pool, redis: Redis, limits: AdmissionLimits) {
    this.limits = limits
    this.pool = pool
    this.redis = redis
    this.takeScript = controlScript(redis, 'takeDebit')
    this.giveBack = controlScript(redis, 'giveBack')
  }

  /**
   * Moves coin inside the caller's transaction.
   * @throws GatewayError insufficient_balance, spend_limit_exceeded, key_budget_exceeded; invalid_request where the receiver cannot
   *   hold the coin; admission_unavailable when Redis cannot say now. The transaction has to be rolled back then
   */
  async move(transaction: UndoableTransaction, debit: Debit): Promise<void> {
    const takenAtMs = await this.take(transaction, debit)
    await book(transaction.client, debit, takenAtMs)
  }

  /**
   * Takes coin or tokens in Redis for a transaction that books them itself, with `bookTaking` and its own transfers.
   * @returns when it was taken, on Redis's clock
   * @throws GatewayError as of `move`; the database error 23505 when it was voided meanwhile
   */
  async take(transaction: UndoableTransaction, taking: Taking): Promise<number> {
    const { client } = transaction
    for (const amount of taking.series === undefined ? [taking.nanos, taking.units] : [taking.units]) {
      if (Number.isSafeInteger(amount) && amount > 0) continue
      throw new RangeError(`a debit has to be a positive number of nanos and units, not ${amount}`)
    }
    if (!(await tryDebitLock(client))) throw unavailable()
    // Unless Redis has rejected it, it may be taken, even after an error.
    let mayBeTaken = true
    transaction.onRollback(async () => mayBeTaken && this.void(taking, Date.now()))
    const taken = await this.takeInRedis(taking, await serversInBook(client))
    if (taken.code !== HoldCode.OK) {
      mayBeTaken = false
      throw refusalOf(taken, taking)
    }
    // Immediately: from here on, voiding it waits for this transaction, however long that waits for others.
    await client.query(
      'INSERT INTO debits (id, account_id, key_id, units, taken_at_ms, voided) VALUES ($1, $2, $3, $4, $5, false)',
      [taking.id, taking.accountId, taking.spender?.keyId ?? '', taking.units, taken.nowMs],
    )
    return taken.nowMs
  }

  /**
   * Gives the coin of a debit back unless it is booked, and keeps it from ever being booked. Safe to repeat.
   * @returns whether nothing of it is left in Redis
   */
  async void(debit: Pick<Taking, 'id' | 'accountId' | 'units' | 'spender'>, takenAtMs: number): Promise<boolean> {
    const keyId = debit.spender?.keyId ?? ''
    await this.pool.query(
      `INSERT INTO debits (id, account_id, key_id, units, taken_at_ms, voided) VALUES ($1, $2, $3, $4, $5, true)
       ON CONFLICT DO NOTHING`,
      [debit.id, debit.accountId, keyId, debit.units, takenAtMs],
    )
    const found = await this.pool.query<{ voided: boolean }>('SELECT voided FROM debits WHERE id = $1', [debit.id])
    if (found.rows[0]?.voided !== true) return true
    return Number(await this.giveBack([...accountKeysOf(debit), ...countersOf(debit)], [debit.id])) >= 0
  }

  private takeInRedis(debit: Taking, servers: string): Promise<Taken> {
    const take = () => inTime(this.tryTake(debit, servers), this.limits)
    return takeRecalling(this.redis, debit.accountId, this.limits, take, isShort)
  }

  private async tryTake(debit: Taking, servers: string): Promise<Taken> {
    const { spender } = debit
    const keys = keysText({ keyId: spender?.keyId ?? '', platformKeyId: spender?.platform?.keyId ?? '' })
    const [code, left, nowMs, out] = (await this.takeScript(
      [...accountKeysOf(debit), ...countersOf(debit)],
      [
        debit.id,
        debit.accountId,
        keys,
        debit.nanos,
        debit.units,
        servers,
        debit.series?.id ?? '',
        ...(debit.series?.alsoEnded === true ? ['ended'] : []),
        ...(spender === undefined ? [] : capArguments(spender.caps)),
        ...(spender?.platform === undefined ? [] : capArguments(spender.platform.caps)),
      ],
    )) as [number, number, number, number]
    return { code, left, nowMs, out }
  }
}

/** Leases have units of the account, which are missing in its balance and counted by its keys. */
function isShort({ code, out }: Taken): boolean {
  return out > 0 && (code === HoldCode.BALANCE || metCap(code) !== undefined)
}

type Spending = Pick<Taking, 'accountId' | 'spender'>

function accountKeysOf({ accountId }: Spending): string[] {
  const shard = shardOf(accountId)
  return [epochKey(shard), accountKey(shard, accountId), debitsKey(shard)]
}

/** The counters of the key that spends, if one does, then those of its platform key. */
function countersOf({ accountId, spender }: Spending): string[] {
  const keyIds = [spender?.keyId, spender?.platform?.keyId].filter((keyId) => keyId !== undefined)
  return keyIds.map((keyId) => keyCountersKey(shardOf(accountId), keyId))
}

/**
 * @throws GatewayError invalid_request where the receiver cannot hold the coin; the database error 23514 when the book has less than
 *   Redis
 */
async function book(client: Client, debit: Debit, takenAtMs: number): Promise<void> {
  const { id, accountId, nanos, units, kind, to } = debit
  const receiver = 'accountId' in to ? to.accountId : undefined
  await lockAccounts(client, receiver === undefined ? [accountId] : [accountId, receiver])
  if (receiver !== undefined) await requireRoom(client, receiver, nanos)
  const credit = 'accountId' in to ? coinAccount(to.accountId) : to.ledgerAccount
  const posted = await postTransfers(client, [
    { kind, ref: id, debit: coinAccount(accountId), credit, units, coinNanos: nanos },
  ])
  if (posted !== 1) throw new Error(`the transfer of debit ${id} was booked before`)
  await bookTaking(client, debit, takenAtMs)
  if (receiver !== undefined) await appendAdmissionEvent(client, { accountId: receiver, coinDelta: nanos })
}

/**
 * Books the amount that Redis has taken as spent for good, in addition to the transfers that the caller posts in the same transaction
 * and under the name of the debit. The accounts that change have to be locked with `lockAccounts` before, and the transfers posted:
 * settlements lock ledger accounts before the usage of keys, too, so that neither waits for the other in a circle.
 */
export async function bookTaking(client: Client, taking: Taking, takenAtMs: number): Promise<void> {
  const { id, accountId, nanos, units, series } = taking
  const keyId = taking.spender?.keyId ?? ''
  const grant = series && { id: series.id, expiresAtMs: series.endsAtMs, units: -units }
  await appendAdmissionEvent(client, { accountId, coinDelta: -nanos, ...(grant && { grant }), debitId: id })
  if (keyId !== '') await addDebitUsage(client, { keyId, accountId, takenAtMs, units })
}

/** The servers that the admission state was loaded into; loadings wait for the transaction that asks. */
async function serversInBook(client: Client): Promise<string> {
  const found = await client.query<{ redis_run_id: string }>('SELECT redis_run_id FROM admission_state')
  return found.rows[0]?.redis_run_id ?? ''
}

function unavailable(): GatewayError {
  return new GatewayError('admission_unavailable', { retryAfterSeconds: 1 })
}

function refusalOf({ code, left }: Taken, { series, shortType }: Taking): GatewayError {
  const cap = metCap(code)
  if (cap !== undefined) {
    const error = cap.span === 'life' ? 'key_budget_exceeded' : 'spend_limit_exceeded'
    const message = cap.span === 'life' ? PLATFORM_BUDGET_MESSAGE : PLATFORM_CAP_MESSAGE
    return new GatewayError(error, { ...(cap.isPlatforms && { message }), param: 'amount' })
  }
  switch (code) {
    case HoldCode.BALANCE:
      return new GatewayError('insufficient_balance', {
        ...(shortType !== undefined && { type: shortType }),
        message: series === undefined ? BALANCE_MESSAGE : TOKENS_MESSAGE,
      })
    case HoldCode.NO_ACCOUNT:
    case HoldCode.CLOSED:
      return unavailable()
    default:
      return new GatewayError('internal_error', { cause: new Error(`takeDebit.lua answered ${code}, ${left}`) })
  }
}

const PLATFORM_CAP_MESSAGE = `A cap of the platform key is reached; raise it or wait until its ${windowList('or')} ends.`
const PLATFORM_BUDGET_MESSAGE = "The platform key's budget does not cover this; raise it or use another key."
const TOKENS_MESSAGE = 'The tokens that are free of this holding do not cover this; sell fewer.'
const BALANCE_MESSAGE = 'The coin that is free on the account does not cover this; add coin or send less.'

/** A connection that waits for Redis has no answer and no error, and a transaction must not wait with it. */
async function inTime<T>(answer: Promise<T>, limits: AdmissionLimits): Promise<T> {
  try {
    return await beforeDeadline(answer, limits.debitTakeMs, () => {
      throw unavailable()
    })
  } catch (error) {
    throw error instanceof GatewayError ? error : new GatewayError('admission_unavailable', { cause: error })
  }
}
