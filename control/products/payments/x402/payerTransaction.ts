import {
  decodeFunctionData,
  type Hex,
  keccak256,
  parseTransaction,
  recoverTransactionAddress,
  type TransactionSerializedEIP1559,
} from 'viem'
import { GatewayError } from '../../../../contract/errors/errors.ts'
import { type ChainClient, findTransaction, readChain } from '../../../chain/chainClient.ts'
import type { ExpectedTransfer } from '../../../chain/outbox.ts'
import { PAYMENT_ABI } from '../../../chain/settlementCall.ts'

/** A transaction of the payer's own, and how it is sent: by the gateway when it is at hand. */
export interface PayerTransaction {
  readonly hash: Hex
  readonly raw: Hex | undefined
  readonly nonce: number
  readonly gas: bigint
  /** Wei per gas. */
  readonly maxFeePerGas: bigint
  readonly isMined: boolean
}

const wrong = (message: string): GatewayError => new GatewayError('payment_invalid', { message })

/**
 * Checks a signed transaction that a payer hands over to be sent.
 * @throws GatewayError payment_invalid when it is anything but the transfer that is asked for, signed by its payer
 */
export async function checkSigned(raw: Hex, chainId: number, transfer: ExpectedTransfer): Promise<PayerTransaction> {
  const parsed = await parse(raw)
  if (parsed.type !== 'eip1559' || parsed.chainId !== chainId)
    throw wrong('Sign an EIP-1559 transaction for this chain.')
  if (parsed.signer !== transfer.from) throw wrong('The transaction is not signed by the account in source.')
  checkCall(parsed.to, parsed.data ?? '0x', parsed.value ?? 0n, transfer)
  const { nonce = 0, gas = 0n, maxFeePerGas = 0n } = parsed
  return { hash: keccak256(raw), raw, nonce, gas, maxFeePerGas, isMined: false }
}

async function parse(raw: Hex) {
  try {
    const serializedTransaction = raw as TransactionSerializedEIP1559
    const signer = await recoverTransactionAddress({ serializedTransaction })
    return { ...parseTransaction(serializedTransaction), signer: signer.toLowerCase() }
  } catch {
    throw wrong('The transaction cannot be read; sign an EIP-1559 transaction.')
  }
}

/**
 * Checks a transaction that a payer has sent, by its hash.
 * @throws GatewayError payment_invalid when the node does not know it or it is not the transfer that is asked for;
 *   chain_unavailable
 */
export async function checkSent(chain: ChainClient, hash: Hex, transfer: ExpectedTransfer): Promise<PayerTransaction> {
  const transaction = await readChain(() => findTransaction(chain, hash))
  if (transaction === undefined)
    throw wrong('The node does not know a transaction with this hash; send it and try again.')
  if (transaction.from.toLowerCase() !== transfer.from) throw wrong('The transaction is not of the account in source.')
  checkCall(transaction.to, transaction.input, transaction.value, transfer)
  const { nonce, gas, maxFeePerGas, gasPrice } = transaction
  const isMined = transaction.blockNumber !== null
  return { hash, raw: undefined, nonce, gas, maxFeePerGas: maxFeePerGas ?? gasPrice ?? 0n, isMined }
}

function checkCall(to: string | null | undefined, data: Hex, value: bigint, transfer: ExpectedTransfer): void {
  const call = decode(data)
  const isAsked =
    to?.toLowerCase() === transfer.token &&
    value === 0n &&
    call?.functionName === 'transfer' &&
    call.args[0].toLowerCase() === transfer.to &&
    call.args[1] === transfer.amount
  if (!isAsked) throw wrong('The transaction is not the transfer that the challenge asks for.')
}

function decode(data: Hex) {
  try {
    return decodeFunctionData({ abi: PAYMENT_ABI, data })
  } catch {
    return undefined
  }
}
