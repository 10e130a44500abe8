import { type Log, pad, type TransactionReceipt, toEventSelector } from 'viem'
import type { ExpectedTransfer } from './outbox.ts'

/** Topic of ERC-20 Transfer(address,address,uint256). https://eips.ethereum.org/EIPS/eip-20 */
export const TRANSFER_TOPIC = toEventSelector('Transfer(address,address,uint256)')

/** Whether a log shows exactly this transfer. */
export function isTransfer(log: Pick<Log, 'address' | 'topics' | 'data'>, expected: ExpectedTransfer): boolean {
  return (
    log.address.toLowerCase() === expected.token &&
    log.topics[0] === TRANSFER_TOPIC &&
    log.topics[1]?.toLowerCase() === pad(expected.from).toLowerCase() &&
    log.topics[2]?.toLowerCase() === pad(expected.to).toLowerCase() &&
    log.data !== '0x' &&
    BigInt(log.data) === expected.amount
  )
}

/** A transaction has made its transfer when it succeeded and the token's log shows it; its status alone proves nothing. */
export function hasTransferred(receipt: TransactionReceipt, expected: ExpectedTransfer): boolean {
  return receipt.status === 'success' && receipt.logs.some((log) => isTransfer(log, expected))
}
