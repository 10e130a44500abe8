import { type Address, createPublicClient, http, numberToHex, type PublicClient, type RpcLog } from 'viem'
import { parseAddress } from '../../../../contract/payments/address.ts'
import { TRANSFER_TOPIC } from '../../../chain/transferLog.ts'
import type { HoldersLimits } from '../limits.ts'
import { DISTRIBUTOR_ABI } from './distributorContract.ts'
import type { PublicPeriod, TokenTransfer } from './recompute.ts'

const PAGE = 100

/** The public part of rewards: the periods up to one, and the terms. */
export interface PublicRewards {
  readonly token: Address
  readonly fromBlock: number
  readonly decimals: number
  readonly distributor: Address
  /** From number 1 on. */
  readonly periods: readonly PublicPeriod[]
}

interface Answer {
  readonly token: string
  readonly from_block: number
  readonly coin: { readonly decimals: number }
  readonly distributor: string
  readonly data: readonly PublicPeriod[]
  readonly has_more: boolean
}

/**
 * Reads the periods of a gateway up to a number, all its pages.
 * @param baseUrl without /v1
 * @throws Error where the gateway does not answer, pays no rewards, or has no such period
 */
export async function readPublicRewards(
  baseUrl: string,
  number: number,
  limits: HoldersLimits,
): Promise<PublicRewards> {
  const periods: PublicPeriod[] = []
  for (let after = number + 1; after > 1; ) {
    const url = `${baseUrl.replace(/\/+$/, '')}/v1/holders/rewards?limit=${PAGE}&after=${after}`
    const response = await fetch(url, { signal: AbortSignal.timeout(limits.databaseTimeoutMs) }).catch((error) => {
      throw new Error(
        `${url} does not answer (${error instanceof Error ? error.message : error}); --url names the gateway`,
      )
    })
    if (!response.ok) throw new Error(`${url} answered ${response.status}: ${(await response.text()).slice(0, 200)}`)
    const answer = (await response.json()) as Answer
    periods.push(...answer.data)
    after = answer.data.at(-1)?.number ?? 0
    if (answer.data.length === 0 || periods[0]?.number !== number) throw new Error(`there is no period ${number} yet`)
    if (after > 1) continue
    const [token, distributor] = [parseAddress(answer.token), parseAddress(answer.distributor)]
    if (token === undefined || distributor === undefined) throw new Error(`${url} names no contracts`)
    const { from_block: fromBlock, coin } = answer
    return { token, distributor, fromBlock, decimals: coin.decimals, periods: periods.toReversed() }
  }
  throw new Error('the number of a period is above 0')
}

/**
 * Reads all transfers of a token, in ranges of blocks.
 * @throws errors of the node
 */
export async function readTransfers(
  rpcUrl: string,
  token: Address,
  fromBlock: number,
  limits: HoldersLimits,
): Promise<TokenTransfer[]> {
  const chain = createPublicClient({ transport: http(rpcUrl, { batch: { batchSize: limits.chainBatchMax } }) })
  const head = Number(await chain.getBlockNumber())
  const transfers: TokenTransfer[] = []
  for (let first = fromBlock; first <= head; first += limits.chainScanBlocksMax) {
    const last = Math.min(head, first + limits.chainScanBlocksMax - 1)
    const range = { fromBlock: numberToHex(first), toBlock: numberToHex(last) }
    const logs = await chain.request({
      method: 'eth_getLogs',
      params: [{ address: token, topics: [TRANSFER_TOPIC], ...range }],
    })
    transfers.push(...(await timed(chain, logs)))
  }
  return transfers
}

async function timed(chain: PublicClient, logs: readonly RpcLog[]): Promise<TokenTransfer[]> {
  const numbers = [...new Set(logs.map(({ blockNumber }) => blockNumber))]
  const blocks = await Promise.all(numbers.map((number) => chain.getBlock({ blockNumber: BigInt(number ?? 0) })))
  const times = new Map(blocks.map(({ number, timestamp }) => [Number(number), Number(timestamp)]))
  return logs.map(({ topics, data, blockNumber }) => ({
    seconds: times.get(Number(blockNumber)) ?? 0,
    from: addressIn(topics[1]),
    to: addressIn(topics[2]),
    amount: BigInt(data),
  }))
}

const addressIn = (topic: string | undefined): Address => `0x${(topic ?? '').slice(26)}`.toLowerCase() as Address

/** The root of a period that the distributor has; undefined where it has none. */
export async function publishedRoot(rpcUrl: string, distributor: Address, number: number): Promise<string | undefined> {
  const chain = createPublicClient({ transport: http(rpcUrl) })
  const args = [BigInt(number)] as const
  const call = { abi: DISTRIBUTOR_ABI, address: distributor, functionName: 'period', args } as const
  return (await chain.readContract(call).catch(() => undefined))?.root
}
