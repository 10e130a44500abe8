import type { Logger } from 'pino'
import { pad, type RpcLog } from 'viem'
import { Loop } from '../admission/loop.ts'
import type { ChainClient } from '../chain/chainClient.ts'
import { TRANSFER_TOPIC } from '../chain/transferLog.ts'
import { newId } from '../contract/ids.ts'
import { limits } from '../contract/limits.ts'
import type { Address } from '../contract/payments/address.ts'
import { tokenUsdUnits, unitsOf } from '../contract/payments/conversion.ts'
import type { PaymentAsset } from '../contract/payments/terms.ts'
import { type Client, type Pool, withTransaction } from '../db/pool.ts'
import { tryLock } from '../db/tryLock.ts'
import { creditCoin } from '../ledger/creditCoin.ts'
import { insertDeposit } from './depositRow.ts'

/** Any constant will do, as long as nothing else in this database locks it. */
const SCAN_LOCK = 7_204_042
/** Kind of the transfers that deposits are booked by. */
export const DEPOSIT = 'deposit'

export interface ScannerOptions {
  readonly pool: Pool
  readonly chain: ChainClient
  readonly treasury: Address
  readonly assets: readonly PaymentAsset[]
  /** Blocks that a transfer has to be deep, its own counted. */
  readonly confirmations: number
  /** The account that a wallet is linked to. */
  readonly accountOfWallet: (client: Client, address: Address) => Promise<string | undefined>
  /** USD of one coin in units. */
  readonly coinUsdUnits: (client: Client) => Promise<number>
  readonly log: Logger
}

interface Seen {
  readonly hash: string
  readonly logIndex: number
  readonly block: number
  readonly token: Address
  readonly from: Address
  readonly to: Address
  readonly amount: bigint
}

/**
 * Reads the transfers of the treasury's tokens, block by block and each once. What a linked wallet sends is a deposit of
 * its account; everything else that is not the gateway's own is noted, so that the audit can account for every token.
 */
export class DepositScanner {
  readonly #options: ScannerOptions
  readonly #loop: Loop

  constructor(options: ScannerOptions) {
    this.#options = options
    this.#loop = new Loop('deposits', limits.chainScanMs, options.log, () => this.#pass())
  }

  stop(): Promise<void> {
    return this.#loop.stop()
  }

  async #pass(): Promise<void> {
    const { pool, chain, confirmations } = this.#options
    const head = Number(await chain.getBlockNumber()) - (confirmations - 1)
    const more = await tryLock(pool, SCAN_LOCK, async () => {
      const found = await pool.query<{ scanned_block: number }>('SELECT scanned_block FROM chain_identity')
      const first = (found.rows[0]?.scanned_block ?? head) + 1
      const last = Math.min(head, first + limits.chainScanBlocksMax - 1)
      if (last < first) return false
      await this.#book(last, await this.#transfers(first, last))
      return last < head
    })
    if (more === true) this.#loop.wake()
  }

  async #transfers(first: number, last: number): Promise<Seen[]> {
    const { chain, treasury, assets } = this.#options
    const address = assets.map((asset) => asset.address)
    const [fromBlock, toBlock] = [first, last].map((block) => `0x${block.toString(16)}` as const)
    const read = (topics: Array<`0x${string}` | null>) =>
      chain.request({ method: 'eth_getLogs', params: [{ address, topics, fromBlock, toBlock }] })
    const [came, went] = await Promise.all([
      read([TRANSFER_TOPIC, null, pad(treasury)]),
      read([TRANSFER_TOPIC, pad(treasury)]),
    ])
    const seen = new Map([...came, ...went].flatMap(seenOf).map((one) => [`${one.hash}:${one.logIndex}`, one]))
    return [...seen.values()].sort((a, b) => a.block - b.block || a.logIndex - b.logIndex)
  }

  async #book(scannedBlock: number, transfers: readonly Seen[]): Promise<void> {
    const { pool, log } = this.#options
    await withTransaction(pool, async (client) => {
      await client.query('SELECT FROM chain_identity FOR UPDATE')
      for (const transfer of transfers) {
        if (await isOwn(client, transfer.hash)) continue
        const account = await this.#credit(client, transfer)
        await client.query(
          `INSERT INTO chain_transfers
             (hash, log_index, block_number, token, transfer_from, transfer_to, amount, purpose, ref)
           VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
          [
            ...[transfer.hash, transfer.logIndex, transfer.block, transfer.token, transfer.from, transfer.to],
            ...[transfer.amount.toString(), account === undefined ? 'other' : 'deposit', account ?? ''],
          ],
        )
        const { hash, token, from, to } = transfer
        const shown = { hash, token, from, to, amount: transfer.amount.toString() }
        if (account === undefined) log.warn(shown, 'a transfer of the treasury that nobody has asked for')
        else log.info({ ...shown, account }, 'a deposit arrived')
      }
      await client.query('UPDATE chain_identity SET scanned_block = $1', [scannedBlock])
    })
  }

  /** Credits what a linked wallet sent. @returns its account */
  async #credit(client: Client, transfer: Seen): Promise<string | undefined> {
    const { treasury, assets, accountOfWallet, coinUsdUnits } = this.#options
    if (transfer.to !== treasury || transfer.from === treasury) return undefined
    const asset = assets.find(({ address }) => address === transfer.token)
    const accountId = await accountOfWallet(client, transfer.from)
    if (asset === undefined || accountId === undefined) return undefined
    const usdUnits = tokenUsdUnits(asset, await coinUsdUnits(client))
    const units = creditOf(transfer.amount, asset.decimals, usdUnits)
    if (units === 0) return undefined
    const ref = `${transfer.hash}:${transfer.logIndex}`
    await creditCoin(client, { accountId, units, ref, kind: DEPOSIT })
    const { from: wallet, token, amount } = transfer
    const row = { id: newId('dep'), accountId, replayKey: ref, wallet, asset: asset.id, token, amount, units }
    await insertDeposit(client, { ...row, source: 'transfer', state: 'credited' })
    return accountId
  }
}

/** @returns 0 for what is worth less than a unit, and for more than an account can hold */
function creditOf(amount: bigint, decimals: number, usdUnits: number): number {
  try {
    return unitsOf(amount, decimals, usdUnits)
  } catch {
    return 0
  }
}

/**
 * Whether a transaction is one that the book follows. One that was given up, because it seemed not to come, has come:
 * it is looked for again.
 */
async function isOwn(client: Client, hash: string): Promise<boolean> {
  const found = await client.query<{ transaction_id: number }>(
    'SELECT transaction_id FROM chain_attempts WHERE hash = $1',
    [hash],
  )
  const id = found.rows[0]?.transaction_id
  if (id === undefined) return false
  await client.query(`UPDATE chain_transactions SET state = 'pending' WHERE id = $1 AND state = 'displaced'`, [id])
  return true
}

function seenOf(log: RpcLog): Seen[] {
  const [, from, to] = log.topics
  if (log.transactionHash === null || log.logIndex === null || log.blockNumber === null) return []
  if (from === undefined || to === undefined || log.data === '0x' || BigInt(log.data) === 0n) return []
  return [
    {
      hash: log.transactionHash,
      logIndex: Number(log.logIndex),
      block: Number(log.blockNumber),
      token: log.address.toLowerCase() as Address,
      from: `0x${from.slice(26)}`.toLowerCase() as Address,
      to: `0x${to.slice(26)}`.toLowerCase() as Address,
      amount: BigInt(log.data),
    },
  ]
}
