import type { Logger } from 'pino'
import { GatewayError } from '../../../contract/errors/errors.ts'
import { coinDecimal, valueOfCoinWide } from '../../../contract/money/coin.ts'
import { formatTokens } from '../../../contract/money/lockTokens.ts'
import { newId } from '../../../contract/wire/ids.ts'
import { bookTaking, type Debits, type Taking } from '../../admission/debits/debit.ts'
import { coinAccount, holdingAccount, lockIssuedAccount, lockUnearnedAccount } from '../../book/ledger/accounts.ts'
import { appendAdmissionEvent, lockAccounts } from '../../book/ledger/appendAdmissionEvent.ts'
import { lockLedgerAccounts } from '../../book/ledger/lockLedgerAccounts.ts'
import { lockUnearned, soldUnits } from '../../book/ledger/lockProceeds.ts'
import { postTransfers, type Transfer } from '../../book/ledger/postTransfers.ts'
import { bookPrice } from '../../catalog/pricing/coinAmounts.ts'
import { eachApart } from '../../chain/eachApart.ts'
import { GATEWAY, recordActivity } from '../../runtime/activity/activity.ts'
import type { Client, Pool, Queryable } from '../../runtime/db/pool.ts'
import { type UndoableTransaction, withUndo } from '../../runtime/db/undoable.ts'
import { logEvent } from '../../runtime/logEvents.ts'
import type { LocksLimits } from './limits.ts'
import { lockSeriesRow } from './series.ts'
import { tokensOfUnits } from './tradeAmounts.ts'

/** The kind of the transfers of tokens that are taken back, and of the coin for them. */
const PAYBACK = 'lock_payback'

export interface PayBackParts {
  readonly pool: Pool
  readonly debits: Debits
  readonly log: Logger
  readonly limits: LocksLimits
}

/**
 * Pays the holders of a broken series back: each gets the share of the unearned proceeds that its tokens have among all that
 * customers have. Tokens that requests still hold are paid for in a later pass.
 * @throws the first error, after all holders
 */
export async function payBackHolders(parts: PayBackParts, id: string, signal: AbortSignal): Promise<void> {
  const { pool, debits, log, limits } = parts
  const onFault = (error: unknown) => logEvent(log, 'account_change_undo_failed', { err: error as Error })
  await eachApart(allHolders(pool, id, limits), signal, async (accountId) => {
    await withUndo(pool, onFault, (transaction) => payBack(transaction, debits, id, accountId)).catch(whenHeld)
  })
}

/** The holders of a series, of which one page is read at a time. */
async function* allHolders(pool: Pool, id: string, limits: LocksLimits): AsyncGenerator<string> {
  for (let after: string | undefined = ''; after !== undefined; ) {
    const holders = await holdersOf(pool, id, after, limits)
    yield* holders
    after = holders.length < limits.admissionEventsBatchMax ? undefined : holders.at(-1)
  }
}

/** Tokens that a request holds cannot be taken now. */
function whenHeld(error: unknown): void {
  if (error instanceof GatewayError && error.row === 'insufficient_balance') return
  throw error
}

async function holdersOf(db: Queryable, seriesId: string, after: string, limits: LocksLimits): Promise<string[]> {
  const found = await db.query<{ account_id: string }>(
    `SELECT h.account_id FROM lock_holdings h
       JOIN ledger_accounts l ON l.id = 'lock:' || h.series_id || ':' || h.account_id
     WHERE h.series_id = $1 AND h.account_id > $2 AND NOT h.is_dropped AND l.balance > 0 ORDER BY h.account_id LIMIT $3`,
    [seriesId, after, limits.admissionEventsBatchMax],
  )
  return found.rows.map((row) => row.account_id)
}

/** Takes all tokens of an account in Redis first, as everything that leaves an account, and books them and the coin. */
async function payBack(
  transaction: UndoableTransaction,
  debits: Debits,
  seriesId: string,
  accountId: string,
): Promise<void> {
  const { client } = transaction
  const series = await lockSeriesRow(client, seriesId)
  const units = await heldUnits(client, seriesId, accountId)
  if (series.state !== 'broken' || units === 0) return
  const id = newId('lpb')
  const taking = { id, accountId, nanos: 0, units, series: { ...series, alsoEnded: true } }
  const takenAtMs = await debits.take(transaction, taking)
  await lockAccounts(client, [accountId])
  const coinNanos = await shareOf(client, seriesId, accountId, units)
  await client.query(
    'INSERT INTO lock_paybacks (id, series_id, account_id, units, coin_nanos) VALUES ($1, $2, $3, $4, $5)',
    [id, seriesId, accountId, units, coinNanos],
  )
  await postTransfers(client, transfersOf(taking, seriesId, coinNanos, await bookPrice(client)))
  await bookTaking(client, taking, takenAtMs)
  if (coinNanos > 0n) await appendAdmissionEvent(client, { accountId, coinDelta: Number(coinNanos) })
  const details = {
    series: seriesId,
    model: series.model,
    tokens: formatTokens(tokensOfUnits(units, series.lockedPriceUnits)),
    coin: coinDecimal(Number(coinNanos)),
  }
  await recordActivity(client, GATEWAY, [{ accountId, type: 'lock.paid_back', target: seriesId, details }])
}

async function heldUnits(client: Client, seriesId: string, accountId: string): Promise<number> {
  const found = await client.query<{ balance: number }>('SELECT balance FROM ledger_accounts WHERE id = $1', [
    holdingAccount(seriesId, accountId),
  ])
  return found.rows[0]?.balance ?? 0
}

/** The share of the unearned units, rounded down; the last holder gets the rest. Locks all accounts that it posts to. */
async function shareOf(client: Client, seriesId: string, accountId: string, units: number): Promise<bigint> {
  const tokens = [holdingAccount(seriesId, accountId), lockIssuedAccount(seriesId)]
  await lockLedgerAccounts(client, [coinAccount(accountId), ...tokens])
  // Locked last, as settlements do it that burn tokens, and before the tokens are counted.
  const unearned = (await lockUnearned(client, [seriesId])).get(lockUnearnedAccount(seriesId)) ?? 0n
  const sold = (await soldUnits(client, [seriesId])).get(seriesId) ?? 0n
  return sold <= 0n ? 0n : (unearned * BigInt(units)) / sold
}

function transfersOf(
  { id: ref, accountId, units: tokenUnits }: Taking,
  seriesId: string,
  coinNanos: bigint,
  coinUsdUnits: number,
): Transfer<number | bigint>[] {
  const [holding, issued] = [holdingAccount(seriesId, accountId), lockIssuedAccount(seriesId)]
  const tokens = { kind: PAYBACK, ref, debit: holding, credit: issued, units: tokenUnits }
  if (coinNanos === 0n) return [tokens]
  const [debit, credit] = [lockUnearnedAccount(seriesId), coinAccount(accountId)]
  const units = valueOfCoinWide(coinNanos, coinUsdUnits)
  return [tokens, { kind: PAYBACK, ref, debit, credit, units, coinNanos }]
}
