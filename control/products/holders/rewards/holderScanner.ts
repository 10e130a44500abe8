import type { Hex, RpcLog } from 'viem'
import type { Address } from '../../../../contract/payments/address.ts'
import { type ChainClient, readChain } from '../../../chain/chainClient.ts'
import { TRANSFER_TOPIC } from '../../../chain/transferLog.ts'
import { intArray, textArray } from '../../../runtime/db/arrays.ts'
import { type Client, type Pool, type Queryable, withTransaction } from '../../../runtime/db/pool.ts'
import type { HoldersLimits } from '../limits.ts'
import { CLAIMED_TOPIC } from './distributorContract.ts'

export interface HolderScannerOptions {
  readonly pool: Pool
  readonly chain: ChainClient
  /** Whose holders are rewarded. */
  readonly token: Address
  readonly distributor: Address
  /** The first block that is read. */
  readonly fromBlock: number
  /** Blocks that a transfer has to be deep, its own counted. */
  readonly confirmations: number
  readonly limits: HoldersLimits
}

/** How far transfers are read. */
interface Scan {
  readonly token: Address
  readonly block: number
  readonly hash: Hex | null
  readonly base_block: number
  readonly base_hash: Hex | null
}

interface Block {
  readonly number: number
  readonly hash: Hex
  readonly seconds: number
}

interface Read {
  readonly last: Block
  readonly transfers: readonly Timed[]
  readonly claims: readonly RpcLog[]
}

interface Timed {
  readonly log: RpcLog
  readonly seconds: number
}

/**
 * Reads the transfers of the token, and the claims of rewards, in ranges of blocks with enough confirmations. If the chain
 * still takes back blocks that were read, it starts over from the end of the last closed period.
 */
export class HolderScanner {
  private readonly options: HolderScannerOptions

  constructor(options: HolderScannerOptions) {
    this.options = options
  }

  /**
   * Reads the next range. Calls must not run concurrently.
   * @returns whether more can be read immediately
   * @throws GatewayError chain_unavailable; Error if the book follows another token, or the chain took back transfers by which
   *   a period was paid
   */
  async next(): Promise<boolean> {
    const { pool, chain, confirmations, limits } = this.options
    const scan = await this.opened()
    const head = Number(await readChain(() => chain.getBlockNumber())) - (confirmations - 1)
    const first = scan.block + 1
    const last = Math.min(head, scan.block + limits.chainScanBlocksMax)
    if (last < first) return false
    if (!(await this.isOnChain(scan.block, scan.hash))) {
      await this.goBack(scan)
      return true
    }
    const read = await this.read(first, last)
    await withTransaction(pool, (client) => store(client, read))
    return last < head
  }

  private async opened(): Promise<Scan> {
    const { pool, token, fromBlock } = this.options
    await pool.query('INSERT INTO reward_scan (token, block, base_block) VALUES ($1, $2, $2) ON CONFLICT DO NOTHING', [
      token,
      fromBlock - 1,
    ])
    const found = await pool.query<Scan>('SELECT token, block, hash, base_block, base_hash FROM reward_scan')
    const [scan] = found.rows
    if (scan === undefined) throw new Error('the book has lost how far transfers are read')
    if (scan.token !== token) throw new Error(`the book follows holders of ${scan.token}, not of ${token}`)
    return scan
  }

  /** A hash is not known of a block before the first that is read. */
  private async isOnChain(number: number, hash: Hex | null): Promise<boolean> {
    if (hash === null) return true
    const block = await readChain(() => this.options.chain.getBlock({ blockNumber: BigInt(number) }))
    return block.hash === hash
  }

  private async goBack(scan: Scan): Promise<void> {
    const { pool } = this.options
    if (!(await this.isOnChain(scan.base_block, scan.base_hash))) {
      throw new Error(
        `the chain took back block ${scan.base_block}, by which rewards were shared out: see docs/reference/rewards.md`,
      )
    }
    await withTransaction(pool, async (client) => {
      await client.query('DELETE FROM reward_transfers WHERE block > $1', [scan.base_block])
      await client.query('DELETE FROM reward_claims WHERE block > $1', [scan.base_block])
      await client.query('UPDATE reward_scan SET block = base_block, hash = base_hash, block_time = base_time')
    })
  }

  private async read(first: number, last: number): Promise<Read> {
    const { chain, token, distributor } = this.options
    const [fromBlock, toBlock] = [first, last].map((block) => `0x${block.toString(16)}` as const)
    const logsOf = (address: Address, topic: Hex | undefined) =>
      chain.request({
        method: 'eth_getLogs',
        params: [{ address, topics: [topic ?? null], fromBlock, toBlock }],
      })
    const [transfers, claims, newest] = await readChain(() =>
      Promise.all([
        logsOf(token, TRANSFER_TOPIC),
        logsOf(distributor, CLAIMED_TOPIC),
        // In the same request, so that the same node answers: a node omits logs of blocks that it does not have.
        chain.getBlock({ blockNumber: BigInt(last) }),
      ]),
    )
    const seconds = await this.timesOf(transfers)
    return {
      last: { number: last, hash: newest.hash, seconds: Number(newest.timestamp) },
      transfers: transfers.map((log) => ({ log, seconds: seconds.get(log.blockHash ?? '0x') ?? 0 })),
      claims,
    }
  }

  /** By its hash, when a block was made; a block that the chain has taken back meanwhile is an error. */
  private async timesOf(logs: readonly RpcLog[]): Promise<Map<Hex, number>> {
    const hashes = [...new Set(logs.flatMap(({ blockHash }) => (blockHash === null ? [] : [blockHash])))]
    const blocks = await readChain(() =>
      Promise.all(hashes.map((blockHash) => this.options.chain.getBlock({ blockHash }))),
    )
    return new Map(blocks.map(({ hash, timestamp }) => [hash, Number(timestamp)]))
  }
}

async function store(client: Client, { last, transfers, claims }: Read): Promise<void> {
  const moved = transfers.flatMap(movementOf)
  await client.query(
    `INSERT INTO reward_transfers (block, log_index, block_time, sender, receiver, amount)
     SELECT * FROM unnest($1::bigint[], $2::integer[], $3::bigint[], $4::text[], $5::text[], $6::numeric[])`,
    [
      intArray(moved.map(({ block }) => block)),
      intArray(moved.map(({ index }) => index)),
      intArray(moved.map(({ seconds }) => seconds)),
      textArray(moved.map(({ sender }) => sender)),
      textArray(moved.map(({ receiver }) => receiver)),
      textArray(moved.map(({ amount }) => amount)),
    ],
  )
  await storeClaims(client, claims)
  await client.query('UPDATE reward_scan SET block = $1, hash = $2, block_time = $3', [
    last.number,
    last.hash,
    last.seconds,
  ])
}

async function storeClaims(db: Queryable, claims: readonly RpcLog[]): Promise<void> {
  for (const { topics, transactionHash, blockNumber } of claims) {
    await db.query(
      'INSERT INTO reward_claims (number, address, hash, block) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING',
      [Number(topics[1]), addressIn(topics[2]), transactionHash, Number(blockNumber)],
    )
  }
}

/** A transfer of nothing, or to oneself, changes no balance. */
function movementOf({ log, seconds }: Timed) {
  const [, from, to] = log.topics
  if (from === undefined || to === undefined || from === to || log.data === '0x') return []
  const amount = BigInt(log.data)
  if (amount === 0n) return []
  const place = { block: Number(log.blockNumber), index: Number(log.logIndex), seconds }
  return [{ ...place, sender: addressIn(from), receiver: addressIn(to), amount: amount.toString() }]
}

const addressIn = (topic: Hex | undefined): Address => `0x${(topic ?? '').slice(26)}`.toLowerCase() as Address
