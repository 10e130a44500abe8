import { GatewayError } from '../../../../contract/errors/errors.ts'
import { coinDecimal } from '../../../../contract/money/coin.ts'
import { formatUsd } from '../../../../contract/money/units.ts'
import { hashSecret, newId, newSecret } from '../../../../contract/wire/ids.ts'
import type { Debits } from '../../../admission/debits/debit.ts'
import { ESCROW_COIN } from '../../../book/ledger/accounts.ts'
import { lockAccounts } from '../../../book/ledger/appendAdmissionEvent.ts'
import { requireRoom } from '../../../book/ledger/coinRoom.ts'
import { creditCoin } from '../../../book/ledger/creditCoin.ts'
import type { CoinAmount } from '../../../catalog/pricing/coinAmounts.ts'
import { type Actor, GATEWAY, recordActivity } from '../../../runtime/activity/activity.ts'
import { camelColumns, msColumns } from '../../../runtime/db/columns.ts'
import { countOf } from '../../../runtime/db/count.ts'
import { locking } from '../../../runtime/db/lockOrder.ts'
import type { Client, Queryable } from '../../../runtime/db/pool.ts'
import type { UndoableTransaction } from '../../../runtime/db/undoable.ts'

export type LinkStatus = 'open' | 'claimed' | 'cancelled' | 'expired'

export interface Link {
  readonly id: string
  /** The account that the coin is from. */
  readonly accountId: string
  /** Integer of 1e-9 coin. */
  readonly nanos: number
  /** Its worth when the link was made. */
  readonly units: number
  readonly note: string
  readonly status: LinkStatus
  readonly createdAtMs: number
  readonly expiresAtMs: number
  readonly endedAtMs: number | null
}

/** As in the activity of an account: its initial worth, and the coin. */
const amountOf = ({ nanos, units }: CoinAmount) => ({ amount: formatUsd(units), coin: coinDecimal(nanos) })

const COLUMNS = `${camelColumns('id, account_id, units, note, status')}, coin_nanos AS nanos,
  ${msColumns('created_at, expires_at, ended_at')}`

/**
 * Moves coin of an account into a new link.
 * @returns the link, and its token, which is shown here and never again
 * @throws GatewayError insufficient_balance and the other errors of `Debits.move`
 */
export async function createLink(
  transaction: UndoableTransaction,
  debits: Debits,
  actor: Actor,
  link: CoinAmount & { accountId: string; note: string; expiresAtMs: number },
): Promise<{ link: Link; token: string }> {
  const { client } = transaction
  const { accountId, nanos, units, note } = link
  const [id, token] = [newId('lnk'), newSecret('lt')]
  const to = { ledgerAccount: ESCROW_COIN }
  // The contract has a class of its own for a link above the balance.
  const shortType = 'insufficient_balance'
  await debits.move(transaction, { id, accountId, nanos, units, kind: 'link', to, shortType })
  const made = await client.query<Link>(
    `INSERT INTO links (id, token_hash, account_id, units, coin_nanos, note, status, expires_at)
     VALUES ($1, $2, $3, $4, $5, $6, 'open', $7) RETURNING ${COLUMNS}`,
    [id, hashSecret(token), accountId, units, nanos, note, new Date(link.expiresAtMs)],
  )
  const [row] = made.rows
  if (row === undefined) throw new Error('the database returned no row for a new link')
  const expires_at = new Date(row.expiresAtMs).toISOString()
  const details = { ...amountOf(link), expires_at }
  await recordActivity(client, actor, [{ accountId, type: 'link.created', target: id, details }])
  return { link: row, token }
}

/**
 * Moves the coin of a link to the account that has its token. Concurrent claims take turns, and the first one wins.
 * @throws GatewayError link_not_found; link_gone when it is claimed, cancelled or expired; invalid_request where the account cannot hold
 *   the coin
 */
export async function claimLink(client: Client, actor: Actor, token: string, accountId: string): Promise<Link> {
  const link = await lockOpen(client, 'token_hash', hashSecret(token))
  const ended = await end(client, link, 'claimed', accountId)
  const details = amountOf(link)
  await recordActivity(client, actor, [{ accountId, type: 'link.claimed', target: link.id, details }])
  if (link.accountId !== accountId) {
    const change = { accountId: link.accountId, type: 'link.claimed', target: link.id, details }
    await recordActivity(client, GATEWAY, [change])
  }
  return ended
}

/**
 * Moves the coin of a link back to the account that made it.
 * @throws GatewayError link_not_found; permission_denied for someone else's; link_gone; invalid_request where the account cannot hold the
 *   coin
 */
export async function cancelLink(client: Client, actor: Actor, id: string, accountId: string): Promise<Link> {
  const link = await lockOpen(client, 'id', id, accountId)
  const ended = await end(client, link, 'cancelled', link.accountId)
  const details = amountOf(link)
  await recordActivity(client, actor, [{ accountId, type: 'link.cancelled', target: id, details }])
  return ended
}

/** Moves the coin of a link that is past its time back to the account that made it. @returns undefined if it is not */
export async function expireLink(client: Client, id: string): Promise<Link | undefined> {
  locking(client, 'links', () => [id])
  const found = await client.query<Link>(
    `SELECT ${COLUMNS} FROM links WHERE id = $1 AND status = 'open' AND expires_at <= now() FOR UPDATE`,
    [id],
  )
  const [link] = found.rows
  if (link === undefined) return undefined
  const ended = await end(client, link, 'expired', link.accountId)
  const details = amountOf(link)
  const change = { accountId: link.accountId, type: 'link.expired', target: id, details }
  await recordActivity(client, GATEWAY, [change])
  return ended
}

/** Links that are past their time, by id. @param after the id to begin after; the links up to it come last */
export async function overdueLinks(db: Queryable, limit: number, after: string): Promise<string[]> {
  const found = await db.query<{ id: string }>(
    `SELECT id FROM links WHERE status = 'open' AND expires_at <= now() ORDER BY id > $2 DESC, id LIMIT $1`,
    [limit, after],
  )
  return found.rows.map((row) => row.id)
}

/** The links of an account, newest first. @param after the id of the link to continue after, or '' */
export async function pageOfLinks(db: Queryable, accountId: string, limit: number, after: string): Promise<Link[]> {
  const found = await db.query<Link>(
    `SELECT ${COLUMNS} FROM links WHERE account_id = $1 AND ($2 = '' OR id < $2) ORDER BY id DESC LIMIT $3`,
    [accountId, after, limit],
  )
  return found.rows
}

/** The account that made a link, or undefined for an unknown id. */
export async function ownerOfLink(db: Queryable, id: string): Promise<string | undefined> {
  const found = await db.query<{ account_id: string }>('SELECT account_id FROM links WHERE id = $1', [id])
  return found.rows[0]?.account_id
}

/** How many links of an account hold coin. */
export async function countOpenLinks(db: Queryable, accountId: string): Promise<number> {
  return countOf(db, `SELECT count(*) FROM links WHERE account_id = $1 AND status = 'open'`, [accountId])
}

/** @param accountId the required owner */
async function lockOpen(client: Client, column: 'id' | 'token_hash', value: string, accountId?: string): Promise<Link> {
  locking(client, 'links', () => [value])
  const found = await client.query<Link & { overdue: boolean }>(
    `SELECT ${COLUMNS}, expires_at <= now() AS overdue FROM links WHERE ${column} = $1 FOR UPDATE`,
    [value],
  )
  const [row] = found.rows
  if (row === undefined) throw new GatewayError('link_not_found')
  if (accountId !== undefined && row.accountId !== accountId) throw new GatewayError('permission_denied')
  const status = row.status === 'open' && row.overdue ? 'expired' : row.status
  if (status !== 'open') throw new GatewayError('link_gone', { message: `This link is ${status}.` })
  return row
}

const KINDS = { claimed: 'link_claim', cancelled: 'link_cancel', expired: 'link_expiry' } as const

/** @param accountId receives the coin @throws GatewayError invalid_request where it cannot hold it */
async function end(client: Client, link: Link, status: keyof typeof KINDS, accountId: string): Promise<Link> {
  await lockAccounts(client, [accountId])
  await requireRoom(client, accountId, link.nanos)
  const ended = await client.query<Link>(
    `UPDATE links SET status = $2, claimed_by = $3, ended_at = now() WHERE id = $1 RETURNING ${COLUMNS}`,
    [link.id, status, status === 'claimed' ? accountId : null],
  )
  const { nanos, units, id: ref } = link
  await creditCoin(client, { accountId, nanos, units, ref, kind: KINDS[status], from: ESCROW_COIN })
  const [row] = ended.rows
  if (row === undefined) throw new Error(`link ${link.id} went away while it was locked`)
  return row
}
