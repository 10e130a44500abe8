import { randomBytes } from 'node:crypto'
import type { Logger } from 'pino'
import type { Address } from '../../../../contract/payments/address.ts'
import type { ChainClient } from '../../../chain/chainClient.ts'
import { cursorBehind, eachApart } from '../../../chain/eachApart.ts'
import { tryLock } from '../../../runtime/db/locks.ts'
import { type Client, type Pool, withTransaction } from '../../../runtime/db/pool.ts'
import { logEvent } from '../../../runtime/logEvents.ts'
import { Loop } from '../../../runtime/loop.ts'
import type { LocksLimits } from '../limits.ts'
import { REDEEMED_TOPIC, type Redeemed, redeemedOf } from './lockTokensContract.ts'
import { bookBack, LOCK_REDEEMED, lockOnchainSeries, onchainUnits } from './onchainTokens.ts'
import { countOtherSeries } from './otherSeries.ts'
import { endRedemption, insertRedemptions, type WaitingRedemption, waitingRedemptions } from './redemptionRow.ts'

/** Ids of redemptions begin with the hash of their transaction. */
const HASH_BYTES = 32

export interface RedemptionScannerOptions {
  readonly pool: Pool
  readonly chain: ChainClient
  /** The LockTokens contract. */
  readonly contract: Address
  /** Blocks that a redemption has to be deep, its own counted. */
  readonly confirmations: number
  /** Blocks after which nothing is expected to be taken back; they are read again with every new one. */
  readonly finalBlocks: number
  /** The account that a wallet is linked to. */
  readonly accountOfWallet: (client: Client, address: Address) => Promise<string | undefined>
  readonly log: Logger
  readonly limits: LocksLimits
}

/**
 * Reads redemptions of the contract, block by block, and credits each once to the holding of the account that the wallet is
 * linked to. Those of other wallets wait until the wallet is linked or the series ends.
 */
export class RedemptionScanner {
  private readonly options: RedemptionScannerOptions
  private readonly loop: Loop
  /** The wallet behind which the next pass begins. */
  private after = ''

  constructor(options: RedemptionScannerOptions) {
    this.options = options
    this.loop = new Loop('lock redemptions', options.limits.chainScanMs, options.log, (signal) => this.pass(signal))
  }

  stop(): Promise<void> {
    return this.loop.stop()
  }

  private async pass(signal: AbortSignal): Promise<void> {
    const { pool, chain, confirmations, contract } = this.options
    const head = Number(await chain.getBlockNumber()) - (confirmations - 1)
    const more = await tryLock(pool, 'lockRedemptions', async () => {
      await pool.query('INSERT INTO lock_scans (contract, scanned_block) VALUES ($1, $2) ON CONFLICT DO NOTHING', [
        contract,
        Math.max(head, 0),
      ])
      const isMore = await this.scan(head)
      await this.creditWaiting(signal)
      return isMore
    })
    if (more === true) this.loop.wake()
  }

  /** @returns whether there are more blocks to read */
  private async scan(head: number): Promise<boolean> {
    const { pool, contract, finalBlocks, limits, log } = this.options
    const again = Math.min(finalBlocks, Math.floor(limits.chainScanBlocksMax / 2))
    const found = await pool.query<{ scanned_block: number }>(
      'SELECT scanned_block FROM lock_scans WHERE contract = $1',
      [contract],
    )
    const scanned = found.rows[0]?.scanned_block ?? head
    const first = Math.max(scanned + 1 - again, 0)
    const last = Math.min(head, first + limits.chainScanBlocksMax - 1)
    if (last <= scanned) return false
    const redeemed = await this.read(first, last)
    const added = await withTransaction(pool, async (client) => {
      await client.query('UPDATE lock_scans SET scanned_block = $2 WHERE contract = $1', [contract, last])
      return insertRedemptions(client, contract, redeemed)
    })
    for (const { hash, seriesId, wallet, micros } of added) {
      logEvent(log, 'lock_redemption_arrived', { hash, series: seriesId, wallet, micros: micros.toString() })
    }
    return last < head
  }

  /** @throws when the answering node has not synced the last block */
  private async read(first: number, last: number): Promise<Redeemed[]> {
    const { chain, contract: address } = this.options
    const [fromBlock, toBlock] = [first, last].map((block) => `0x${block.toString(16)}` as const)
    const [logs] = await Promise.all([
      chain.request({ method: 'eth_getLogs', params: [{ address, topics: [REDEEMED_TOPIC], fromBlock, toBlock }] }),
      // In the same request, so that the same node answers: it leaves out what it does not have.
      chain.getBlock({ blockNumber: BigInt(last) }),
    ])
    const place = ({ blockNumber, logIndex }: (typeof logs)[number]) => [Number(blockNumber), Number(logIndex)] as const
    return [...logs]
      .sort((one, other) => {
        const [[block, index], [otherBlock, otherIndex]] = [place(one), place(other)]
        return block - otherBlock || index - otherIndex
      })
      .flatMap(redeemedOf)
  }

  private async creditWaiting(signal: AbortSignal): Promise<void> {
    const { pool, limits } = this.options
    const most = limits.lockRedemptionBatchMax
    // Any place among a wallet's redemptions, so that those that cannot be credited yet hold up no other for good.
    const pivot = `0x${randomBytes(HASH_BYTES).toString('hex')}`
    const waiting = await waitingRedemptions(pool, most, this.after, pivot)
    this.after = cursorBehind(waiting, most, ({ wallet }) => wallet)
    await eachApart(waiting, signal, (one) => withTransaction(pool, (client) => this.credit(client, one)))
  }

  private async credit(client: Client, { id, seriesId, wallet, micros }: WaitingRedemption): Promise<void> {
    const { accountOfWallet, limits, log } = this.options
    const series = await lockOnchainSeries(client, seriesId)
    if (series !== undefined && !series.isOpen) {
      await endRedemption(client, id, 'expired')
      return
    }
    const units = series === undefined ? 0n : micros * BigInt(series.microUnits)
    if (series === undefined || units > BigInt(await onchainUnits(client, seriesId))) {
      await endRedemption(client, id, 'refused')
      logEvent(log, 'lock_redemption_refused', { redemption: id, series: seriesId, wallet, micros: micros.toString() })
      return
    }
    const accountId = await accountOfWallet(client, wallet)
    if (accountId === undefined) return
    if ((await countOtherSeries(client, accountId, seriesId)) >= limits.lockSeriesPerAccountMax) return
    if (!(await endRedemption(client, id, 'credited', accountId))) return
    const activity = { type: 'lock.redeemed', target: seriesId, details: { wallet, transaction: id.slice(0, 66) } }
    await bookBack(client, series, { kind: LOCK_REDEEMED, ref: id, accountId, units: Number(units), activity })
  }
}
