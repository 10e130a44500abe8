import type { Logger } from 'pino'
import { pad } from 'viem'
import { coinBoughtFor } from '../../../../contract/money/coin.ts'
import { UNITS_PER_USD } from '../../../../contract/money/units.ts'
import type { Address } from '../../../../contract/payments/address.ts'
import { unitsOf } from '../../../../contract/payments/conversion.ts'
import type { PaymentAsset } from '../../../../contract/payments/terms.ts'
import { newId } from '../../../../contract/wire/ids.ts'
import { coinAccount, PAYMENTS_IN } from '../../../book/ledger/accounts.ts'
import { lockAccounts } from '../../../book/ledger/appendAdmissionEvent.ts'
import { hasRoom } from '../../../book/ledger/coinRoom.ts'
import { creditCoin } from '../../../book/ledger/creditCoin.ts'
import { lockLedgerAccounts } from '../../../book/ledger/lockLedgerAccounts.ts'
import { bookableCoin, type CoinAmount } from '../../../catalog/pricing/coinAmounts.ts'
import type { ChainClient } from '../../../chain/chainClient.ts'
import { followTransfers } from '../../../chain/followTransfers.ts'
import { advanceScan, lockScan, newTransfers, recordTransfer } from '../../../chain/foreignTransfers.ts'
import { type Seen, seenOf } from '../../../chain/seenTransfer.ts'
import { TRANSFER_TOPIC } from '../../../chain/transferLog.ts'
import { countOf } from '../../../runtime/db/count.ts'
import { tryLock } from '../../../runtime/db/locks.ts'
import { type Client, type Pool, withTransaction } from '../../../runtime/db/pool.ts'
import { logEvent } from '../../../runtime/logEvents.ts'
import { Loop } from '../../../runtime/loop.ts'
import type { PaymentsLimits } from '../limits.ts'
import { insertDeposit } from './depositRow.ts'

/** Kind of the transfers that deposits are booked by. */
export const DEPOSIT = 'deposit'

export interface ScannerOptions {
  readonly pool: Pool
  readonly chain: ChainClient
  readonly treasury: Address
  readonly assets: readonly PaymentAsset[]
  /** Blocks that a transfer has to be deep, its own counted. */
  readonly confirmations: number
  /** Blocks after which nothing is expected to be taken back; they are read again with every new one. */
  readonly finalBlocks: number
  /** The account that a wallet is linked to. */
  readonly accountOfWallet: (client: Client, address: Address) => Promise<string | undefined>
  /** USD of one coin in units. */
  readonly coinUsdUnits: (client: Client) => Promise<number>
  readonly log: Logger
  readonly limits: PaymentsLimits
}

interface Scanned {
  readonly first: number
  readonly last: number
  /** The newest block of the chain. */
  readonly newest: number
}

/**
 * Reads the transfers of the treasury's tokens, block by block, and books each transfer once: the blocks that the
 * chain may still take back are read again with every new one, since their transactions may move to other blocks. A transfer
 * from a linked wallet is a deposit of its account; every other transfer that is not the gateway's own is recorded, so that
 * the audit can account for every token.
 */
export class DepositScanner {
  private readonly options: ScannerOptions
  private readonly loop: Loop

  constructor(options: ScannerOptions) {
    this.options = options
    this.loop = new Loop('deposits', options.limits.chainScanMs, options.log, () => this.pass())
  }

  stop(): Promise<void> {
    return this.loop.stop()
  }

  private async pass(): Promise<void> {
    const { pool, chain, confirmations, finalBlocks } = this.options
    const again = Math.min(finalBlocks, Math.floor(this.options.limits.chainScanBlocksMax / 2))
    const newest = Number(await chain.getBlockNumber())
    const head = newest - (confirmations - 1)
    const more = await tryLock(pool, 'depositScan', async () => {
      const found = await pool.query<{ scanned_block: number }>('SELECT scanned_block FROM chain_identity')
      const scanned = found.rows[0]?.scanned_block ?? head
      const first = Math.max(scanned + 1 - again, 0)
      const last = Math.min(head, first + this.options.limits.chainScanBlocksMax - 1)
      if (last <= scanned) return false
      await this.book({ first, last, newest }, await this.transfers(first, last))
      return last < head
    })
    if (more === true) this.loop.wake()
  }

  /** @throws when the node lags behind and does not have the last of the blocks */
  private async transfers(first: number, last: number): Promise<Seen[]> {
    const { chain, treasury, assets } = this.options
    const address = assets.map((asset) => asset.address)
    const [fromBlock, toBlock] = [first, last].map((block) => `0x${block.toString(16)}` as const)
    const read = (topics: Array<`0x${string}` | null>) =>
      chain.request({ method: 'eth_getLogs', params: [{ address, topics, fromBlock, toBlock }] })
    const [came, went] = await Promise.all([
      read([TRANSFER_TOPIC, null, pad(treasury)]),
      read([TRANSFER_TOPIC, pad(treasury)]),
      // In the same request, so that the same node answers: a node omits logs of blocks that it does not have.
      chain.getBlock({ blockNumber: BigInt(last) }),
    ])
    const seen = new Map([...came, ...went].flatMap(seenOf).map((one) => [`${one.hash}:${one.logIndex}`, one]))
    return [...seen.values()].sort((a, b) => a.block - b.block || a.logIndex - b.logIndex)
  }

  private async book({ first, last, newest }: Scanned, transfers: readonly Seen[]): Promise<void> {
    const { pool, log } = this.options
    await withTransaction(pool, async (client) => {
      await lockScan(client)
      await followTransfers(client, first, transfers)
      const found = await newTransfers(client, transfers)
      await this.lockReceivers(client, found)
      for (const transfer of found) {
        const account = await this.credit(client, transfer)
        await recordTransfer(client, transfer, account)
        const { hash, token, from, to } = transfer
        const shown = { hash, token, from, to, amount: transfer.amount.toString() }
        if (account === undefined) logEvent(log, 'deposit_unassigned', shown)
        else logEvent(log, 'deposit_arrived', { ...shown, account })
      }
      await advanceScan(client, last, newest)
    })
  }

  /** Locks all accounts that may be credited together: each by itself could wait for another transaction in a circle. */
  private async lockReceivers(client: Client, transfers: readonly Seen[]): Promise<void> {
    const wallets = [...new Set(transfers.map(({ from }) => from))]
    const receivers = new Set<string>()
    for (const wallet of wallets) receivers.add((await this.options.accountOfWallet(client, wallet)) ?? '')
    receivers.delete('')
    if (receivers.size === 0) return
    await lockAccounts(client, [...receivers])
    await lockLedgerAccounts(client, [PAYMENTS_IN, ...[...receivers].map(coinAccount)])
  }

  /** Credits a transfer from a linked wallet, unless its account is too full for it. @returns its account */
  private async credit(client: Client, transfer: Seen): Promise<string | undefined> {
    const { treasury, assets, accountOfWallet, coinUsdUnits } = this.options
    if (transfer.to !== treasury || transfer.from === treasury) return undefined
    const asset = assets.find(({ address }) => address === transfer.token)
    const accountId = await accountOfWallet(client, transfer.from)
    if (asset === undefined || accountId === undefined) return undefined
    const credit = creditOf(transfer.amount, asset, await coinUsdUnits(client))
    if (credit === undefined || !(await hasRoom(client, accountId, credit.nanos))) return undefined
    const ref = await refOf(client, transfer)
    await creditCoin(client, { accountId, ...credit, ref, kind: DEPOSIT })
    const { from: wallet, token, amount } = transfer
    const row = { id: newId('dep'), accountId, replayKey: ref, wallet, asset: asset.id, token, amount, ...credit }
    await insertDeposit(client, { ...row, source: 'transfer', state: 'credited' })
    return accountId
  }
}

/**
 * Names a deposit by the place of its transfer. Where a deposit has this name, a reorganization has made another transfer of the
 * same transaction there: this one has its number as well.
 */
async function refOf(client: Client, { hash, logIndex }: Seen): Promise<string> {
  const place = `${hash}:${logIndex}`
  const credited = await countOf(
    client,
    `SELECT count(*) FROM deposits WHERE replay_key = $1 OR (replay_key > $1 || ':' AND replay_key < $1 || ';')`,
    [place],
  )
  return credited === 0 ? place : `${place}:${credited + 1}`
}

/**
 * Tokens of the coin are credited as they are, those of a stablecoin as the coin that they buy now.
 * @returns undefined for amounts worth less than a unit, and for more than an account can hold
 */
function creditOf(amount: bigint, { decimals, usdUnits }: PaymentAsset, coinUsdUnits: number): CoinAmount | undefined {
  try {
    const counted = unitsOf(amount, decimals, usdUnits || UNITS_PER_USD)
    const credit =
      usdUnits === 0
        ? bookableCoin(counted, coinUsdUnits)
        : { nanos: coinBoughtFor(counted, coinUsdUnits), units: counted }
    return credit !== undefined && credit.nanos > 0 && credit.units > 0 ? credit : undefined
  } catch {
    return undefined
  }
}
