import { GatewayError } from '../../../../contract/errors/errors.ts'
import {
  type ChainClient,
  chainUnavailable,
  findTransaction,
  isUnanswered,
  readChain,
} from '../../../chain/chainClient.ts'
import type { FeeOracle } from '../../../chain/fees.ts'
import type { ExpectedTransfer } from '../../../chain/outbox.ts'
import { PAYMENT_ABI, transferCall } from '../../../chain/settlementCall.ts'
import type { PaymentsLimits } from '../limits.ts'
import type { PayerTransaction } from './payerTransaction.ts'

/**
 * Checks that a transaction of the payer's own can get into the next block and make its transfer: the payer has the
 * tokens and the gas money, the nonce is its next one, the fee is enough, and the token takes the call.
 * @throws GatewayError insufficient_funds, payment_invalid, chain_unavailable
 */
export async function checkFunds(
  chain: ChainClient,
  fees: FeeOracle,
  transaction: PayerTransaction,
  transfer: ExpectedTransfer,
  limits: PaymentsLimits,
): Promise<void> {
  if (transaction.isMined) return
  const { token, from, amount } = transfer
  const [nextNonce, wei, tokens, baseFee, isTaken] = await readChain(() =>
    Promise.all([
      chain.getTransactionCount({ address: from, blockTag: 'latest' }),
      chain.getBalance({ address: from }),
      chain.readContract({ abi: PAYMENT_ABI, address: token, functionName: 'balanceOf', args: [from] }),
      fees.baseFee(),
      takesCall(chain, transaction, transfer),
    ]),
  )
  const { nonce, gas, maxFeePerGas } = transaction
  if (nonce < nextNonce && (await isInBlock(chain, transaction))) return
  if (tokens < amount) throw insufficient(limits)
  if (wei < gas * maxFeePerGas) {
    throw insufficient(
      limits,
      `The wallet cannot pay ${gas * maxFeePerGas} wei for gas; add funds and pay again after a minute.`,
    )
  }
  if (nonce !== nextNonce) throw invalid(`The transaction has nonce ${nonce}; sign one with nonce ${nextNonce}.`)
  if (maxFeePerGas < baseFee) throw invalid(`A block takes ${baseFee} wei per gas; sign with a higher maxFeePerGas.`)
  if (!isTaken) throw invalid('The token refuses the transfer with this much gas; sign one that it takes.')
}

/** Whether the node can run the transfer now, with the gas that the transaction allows. */
async function takesCall(
  chain: ChainClient,
  { gas }: PayerTransaction,
  { token, from, to, amount }: ExpectedTransfer,
): Promise<boolean> {
  try {
    const { data } = await chain.call({ account: from, gas, ...transferCall(token, to, amount) })
    // Some tokens answer false in place of reverting, some answer nothing.
    return data === undefined || data === '0x' || BigInt(data) === 1n
  } catch (error) {
    if (isUnanswered(error)) throw chainUnavailable(error)
    return false
  }
}

async function isInBlock(chain: ChainClient, { hash }: PayerTransaction): Promise<boolean> {
  const found = await readChain(() => findTransaction(chain, hash))
  return found !== undefined && found.blockNumber !== null
}

function insufficient(limits: PaymentsLimits, message?: string): GatewayError {
  const retryAfterSeconds = Math.ceil(limits.paymentRefusalMs / 1_000)
  return new GatewayError(
    'insufficient_funds',
    message === undefined ? { retryAfterSeconds } : { message, retryAfterSeconds },
  )
}

function invalid(message: string): GatewayError {
  return new GatewayError('payment_invalid', { message })
}
