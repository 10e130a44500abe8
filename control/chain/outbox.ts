import type { Hex } from 'viem'
import { GatewayError } from '../../contract/errors/errors.ts'
import type { Address } from '../../contract/payments/address.ts'
import { locking } from '../runtime/db/lockOrder.ts'
import { lockTextUntilCommit } from '../runtime/db/locks.ts'
import type { Client, Queryable } from '../runtime/db/pool.ts'
import { chainUnavailable } from './chainClient.ts'
import type { Fees } from './fees.ts'
import type { SignedTransaction, Signer } from './signer.ts'

export type Purpose =
  | 'payment'
  | 'deposit'
  | 'refund'
  | 'withdrawal'
  | 'settlement'
  | 'reward'
  | 'reward_root'
  | 'vault'
  | 'vault_vest'
  | 'lock_mint'

/** The movement of tokens that a transaction has to make. */
export interface ExpectedTransfer {
  readonly token: Address
  readonly from: Address
  readonly to: Address
  /** Atomic units. */
  readonly amount: bigint
}

/** A transaction that is to be sent. */
export interface Order {
  readonly purpose: Purpose
  /** Names the row that it is for; done once for each purpose. */
  readonly ref: string
  readonly chainId: number
  readonly to: Address
  readonly data: Hex
  readonly gas: bigint
  readonly fees: Fees
  /** Absent where no tokens move. */
  readonly transfer?: ExpectedTransfer
}

/** A transaction that is stored and can be sent; only after the commit it may. */
export interface StoredTransaction extends SignedTransaction {
  readonly id: number
}

/** Begins to count a sender's nonces, or catches up with the chain when it is ahead. */
export async function openSender(db: Queryable, address: Address, chainNonce: number): Promise<void> {
  await db.query(
    `INSERT INTO chain_senders (address, next_nonce) VALUES ($1, $2)
     ON CONFLICT (address) DO UPDATE SET next_nonce = greatest(chain_senders.next_nonce, excluded.next_nonce)`,
    [address, chainNonce],
  )
}

/**
 * Signs a transaction with the sender's next nonce and stores it, inside the caller's transaction: either both happen or
 * neither. The sender's row stays locked until the commit, so call this last.
 * @throws GatewayError chain_unavailable while a transaction of the sender is stuck; the database error when this was ordered
 *   before (SQLSTATE 23505); Error when the sender was never opened
 */
export async function storeTransaction(client: Client, signer: Signer, order: Order): Promise<StoredTransaction> {
  locking(client, 'chainSenders', () => [signer.address])
  const taken = await client.query<{ nonce: number }>(
    'UPDATE chain_senders SET next_nonce = next_nonce + 1 WHERE address = $1 RETURNING next_nonce - 1 AS nonce',
    [signer.address],
  )
  const nonce = taken.rows[0]?.nonce
  if (await isPaused(client, signer.address))
    throw chainUnavailable(new Error(`${signer.address} has a stuck transaction`))
  if (nonce === undefined) throw new Error(`the sender ${signer.address} was not opened`)
  const { chainId, to, data, gas, fees, transfer } = order
  const signed = await signer.sign({ chainId, nonce, to, data, gas, ...fees })
  const stored = await client.query<{ id: number }>(
    `INSERT INTO chain_transactions
       (purpose, ref, sender, nonce, target, data, gas, token, transfer_from, transfer_to, amount, since_block)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, coalesce((SELECT head_block FROM chain_identity), 0)) RETURNING id`,
    [
      order.purpose,
      order.ref,
      signer.address,
      nonce,
      to,
      Buffer.from(data.slice(2), 'hex'),
      gas.toString(),
      transfer?.token,
      transfer?.from,
      transfer?.to,
      transfer?.amount.toString(),
    ],
  )
  const id = stored.rows[0]?.id
  if (id === undefined) throw new Error('the database gave a transaction no id')
  await storeAttempt(client, id, signed, fees)
  return { id, ...signed }
}

/** Whether a sender may send nothing, because an operator has to decide about one of its transactions. */
export async function isPaused(db: Queryable, sender: Address): Promise<boolean> {
  const found = await db.query(`SELECT FROM chain_transactions WHERE sender = $1 AND state = 'stuck' LIMIT 1`, [sender])
  return found.rowCount !== 0
}

/**
 * Stores a transaction that the payer has sent, or signed to be sent. A concurrent scan of transfers waits for the commit, so
 * that a transfer is counted either here or there, never twice.
 * @param raw absent when only its hash is known
 * @param transfers how many transfers like this one the transaction makes, where the chain has shown them
 * @throws GatewayError authorization_used when others have claimed all of these; roll back then
 */
export async function storeForeign(
  client: Client,
  order: Pick<Order, 'purpose' | 'ref'> & { readonly transfer: ExpectedTransfer },
  { hash, raw, transfers = 1 }: { readonly hash: Hex; readonly raw?: Hex | undefined; readonly transfers?: number },
): Promise<number> {
  const { purpose, ref, transfer } = order
  locking(client, 'chainIdentity')
  await client.query('SELECT FROM chain_identity FOR SHARE')
  await lockTextUntilCommit(client, 'chainTransfers', `transfers of ${hash}`)
  if ((await claimsOf(client, hash, transfer)) >= transfers) throw new GatewayError('authorization_used')
  const stored = await client.query<{ id: number }>(
    `INSERT INTO chain_transactions (purpose, ref, token, transfer_from, transfer_to, amount)
     VALUES ($1, $2, $3, $4, $5, $6) RETURNING id`,
    [purpose, ref, transfer.token, transfer.from, transfer.to, transfer.amount.toString()],
  )
  const id = stored.rows[0]?.id
  if (id === undefined) throw new Error('the database gave a transaction no id')
  const nothing = { maxFeePerGas: 0n, maxPriorityFeePerGas: 0n }
  await storeAttempt(client, id, raw === undefined ? { hash } : { hash, raw }, nothing)
  return id
}

/** How many transfers like this one of a transaction the book has counted, for its own transactions or as deposits. */
export async function claimsOf(
  db: Queryable,
  hash: string,
  { token, from, to, amount }: ExpectedTransfer,
): Promise<number> {
  const found = await db.query<{ claims: number }>(
    `SELECT (SELECT count(*) FROM chain_attempts a JOIN chain_transactions t ON t.id = a.transaction_id
        WHERE a.hash = $1 AND (t.token IS NULL
          OR (t.token = $2 AND t.transfer_from = $3 AND t.transfer_to = $4 AND t.amount = $5)))
       + (SELECT count(*) FROM chain_transfers WHERE hash = $1 AND purpose = 'deposit'
          AND token = $2 AND transfer_from = $3 AND transfer_to = $4 AND amount = $5) AS claims`,
    [hash, token, from, to, amount.toString()],
  )
  return found.rows[0]?.claims ?? 0
}

/** Adds a signed form of a stored transaction. */
export async function storeAttempt(
  db: Queryable,
  id: number,
  signed: { hash: Hex; raw?: Hex },
  fees: Fees,
): Promise<void> {
  await db.query(
    'INSERT INTO chain_attempts (hash, transaction_id, raw, max_fee, priority_fee) VALUES ($1, $2, $3, $4, $5)',
    [
      signed.hash,
      id,
      signed.raw === undefined ? null : Buffer.from(signed.raw.slice(2), 'hex'),
      fees.maxFeePerGas.toString(),
      fees.maxPriorityFeePerGas.toString(),
    ],
  )
}
