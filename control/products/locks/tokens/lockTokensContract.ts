import {
  encodeEventTopics,
  encodeFunctionData,
  type Hex,
  numberToHex,
  parseAbi,
  type RpcLog,
  type TransactionReceipt,
} from 'viem'
import type { Address } from '../../../../contract/payments/address.ts'

/** The part of LockTokens.sol that control reads and calls; amounts are micro-tokens. */
export const LOCK_TOKENS_ABI = parseAbi([
  'function mint(address to, uint256 id, uint256 amount, uint256 end, bytes32 withdrawal)',
  'function minter() view returns (address)',
  'function isMinted(bytes32 withdrawal) view returns (bool)',
  'function totalSupply(uint256 id) view returns (uint256)',
  'event Minted(bytes32 indexed withdrawal, uint256 indexed id, address indexed to, uint256 amount)',
  'event Redeemed(uint256 indexed id, address indexed holder, bytes32 indexed account, uint256 amount)',
])

const [MINTED_TOPIC] = encodeEventTopics({ abi: LOCK_TOKENS_ABI, eventName: 'Minted' })
const [REDEEMED] = encodeEventTopics({ abi: LOCK_TOKENS_ABI, eventName: 'Redeemed' })
/** Topic of Redeemed. */
export const REDEEMED_TOPIC: Hex = REDEEMED

/** Crockford's base 32, in which a ULID is written. */
const DIGITS = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
const ULID_LENGTH = 26
const BITS_PER_DIGIT = 5n

/** The number that the ULID of an id is; of a series the id of its token. */
export function numberOfId(id: string): bigint {
  const digits = [...id.slice(-ULID_LENGTH)]
  return digits.reduce((number, digit) => (number << BITS_PER_DIGIT) + BigInt(DIGITS.indexOf(digit)), 0n)
}

/** The id of the series that a token has; what no id of a series can be is written as "token_" and the number in hex. */
export function seriesOfToken(tokenId: bigint): string {
  let rest = tokenId
  let text = ''
  for (let place = 0; place < ULID_LENGTH; place++) {
    text = DIGITS.charAt(Number(rest & 31n)) + text
    rest >>= BITS_PER_DIGIT
  }
  return rest === 0n ? `lock_${text}` : `token_${tokenId.toString(16)}`
}

/** The key by which a contract knows a withdrawal. */
export const withdrawalKey = (withdrawalId: string): Hex => numberToHex(numberOfId(withdrawalId), { size: 32 })

/** Tokens that are to be minted. */
export interface Mint {
  /** Of the withdrawal. */
  readonly id: string
  readonly seriesId: string
  readonly endsAtMs: number
  readonly wallet: Address
  readonly contract: Address
  readonly micros: number
}

/** The call that mints the tokens of a withdrawal; the contract takes it once. */
export function mintCall({ id, seriesId, endsAtMs, wallet, contract, micros }: Mint): { to: Address; data: Hex } {
  const end = BigInt(Math.floor(endsAtMs / 1_000))
  const args = [wallet, numberOfId(seriesId), BigInt(micros), end, withdrawalKey(id)] as const
  return { to: contract, data: encodeFunctionData({ abi: LOCK_TOKENS_ABI, functionName: 'mint', args }) }
}

/** Whether a transaction has minted the tokens of a withdrawal: the contract's log says so. */
export function hasMinted(receipt: TransactionReceipt, contract: Address, withdrawalId: string): boolean {
  const key = withdrawalKey(withdrawalId)
  const isMinted = receipt.logs.some(
    (log) => log.address.toLowerCase() === contract && log.topics[0] === MINTED_TOPIC && log.topics[1] === key,
  )
  return receipt.status === 'success' && isMinted
}

/** Tokens that a wallet has redeemed, as the contract's log says. */
export interface Redeemed {
  readonly hash: Hex
  readonly block: number
  readonly seriesId: string
  readonly wallet: Address
  /** The 32-byte note that the wallet passed to `redeem`. */
  readonly note: Hex
  readonly micros: bigint
}

/** Reads a log of Redeemed; nothing of one that is in no block. */
export function redeemedOf({ topics, data, transactionHash, blockNumber }: RpcLog): Redeemed[] {
  const [, tokenId, holder, note] = topics
  if (tokenId === undefined || holder === undefined || note === undefined || data === '0x') return []
  if (transactionHash === null || blockNumber === null) return []
  return [
    {
      hash: transactionHash,
      block: Number(blockNumber),
      seriesId: seriesOfToken(BigInt(tokenId)),
      wallet: `0x${holder.slice(26)}`.toLowerCase() as Address,
      note,
      micros: BigInt(data),
    },
  ]
}
