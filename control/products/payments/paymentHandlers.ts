import { keccak256 } from 'viem'
import { GatewayError } from '../../../contract/errors/errors.ts'
import { clientNetwork } from '../../../contract/net/ipAddress.ts'
import { type Address, parseAddress } from '../../../contract/payments/address.ts'
import { parseBytes, parseBytes32, parseUint256 } from '../../../contract/payments/encoding.ts'
import { isAssetId, paymentOfMessage, termsToMessage } from '../../../contract/payments/messages.ts'
import { replayKey } from '../../../contract/payments/signedPayment.ts'
import type { sluice } from '../../../contract/wire/generated/messages.js'
import type { Redis } from '../../../contract/wire/redis.ts'
import type { ChainState } from '../../chain/chainState.ts'
import type { RpcHandlers } from '../../runtime/bus/rpcOperations.ts'
import { redisNowMs } from '../../runtime/redisClock.ts'
import type { PaymentsLimits } from './limits.ts'
import type { Payments } from './payments.ts'
import { TRANSACTION_KEY } from './x402/foreignSettlement.ts'
import type { PaymentOrder } from './x402/paymentOrder.ts'

/** Kept back of the time that the proxy waits, so that the answer gets there. */
const ANSWER_MS = 1_000

type PaymentOperation = 'payment_terms' | 'make_payment'

type PaymentMaker = Pick<Payments, 'terms' | 'settle' | 'refusals'>

/**
 * Handlers of the proxies' calls about payments. No terms are sent while no payment can be made.
 * @param payments undefined when the gateway takes none
 */
export function paymentHandlers(
  payments: PaymentMaker | undefined,
  chain: Pick<ChainState, 'payments'>,
  redis: Redis,
  limits: PaymentsLimits,
): Pick<RpcHandlers, PaymentOperation> {
  const service = (): PaymentMaker => {
    if (payments !== undefined) return payments
    throw new GatewayError('not_found', { message: 'This gateway does not take payments per request; use an API key.' })
  }
  return {
    payment_terms: async () => {
      const { terms } = service()
      if (chain.payments !== 'open') throw new GatewayError('chain_unavailable', { retryAfterSeconds: 5 })
      return termsToMessage(terms)
    },
    make_payment: async (request, { deadlineMs }) =>
      settle(service(), redis, request, deadlineMs - performance.now() - ANSWER_MS, limits),
  }
}

async function settle(
  payments: PaymentMaker,
  redis: Redis,
  request: sluice.MakePaymentRequest,
  waitMs: number,
  limits: PaymentsLimits,
): Promise<sluice.MakePaymentReply.$Properties> {
  try {
    const serveMs = Math.floor(Math.min(waitMs, limits.paymentTimeoutMs))
    const order = orderOf(payments, request, serveMs, await redisNowMs(redis), limits)
    return await payments.settle(order, waitMs)
  } catch (error) {
    if (error instanceof GatewayError) payments.refusals.note(error.row)
    throw error
  }
}

function orderOf(
  payments: PaymentMaker,
  request: sluice.MakePaymentRequest,
  waitMs: number,
  nowMs: number,
  limits: PaymentsLimits,
): PaymentOrder {
  const { terms } = payments
  const { asset: assetId, protocol } = request
  const asset = terms.assets.find(({ id }) => id === assetId)
  const payer = parseAddress(request.payer)
  const amount = parseUint256(request.amount)
  if (asset === undefined || !isAssetId(assetId) || payer === undefined || amount === undefined) {
    throw new Error('a payment crossed Redis in a form that it does not have')
  }
  const payment = request.payment ? paymentOfMessage(request.payment) : undefined
  const transaction = transactionOf(request, limits)
  return {
    requestId: request.requestId,
    protocol: protocol === 'mpp' ? 'mpp' : 'x402',
    payer,
    replayKey: payment === undefined ? keyOf(terms.chainId, transaction, payer) : replayKey(payment),
    asset: assetId,
    transfer: { token: asset.address, from: payer, to: terms.payTo, amount },
    units: request.units,
    holdUnits: request.holdUnits,
    minUnits: request.minUnits,
    owner: request.owner,
    model: request.model,
    endpoint: request.endpoint,
    sheetVersion: request.sheetVersion,
    streamed: request.streamed,
    challengeId: request.challengeId,
    agent: request.agent,
    serveByMs: nowMs + waitMs,
    payment,
    contractDigest: parseBytes32(request.contractDigest),
    transaction,
    clientNetwork: clientNetwork(request.clientAddress),
  }
}

function transactionOf(request: sluice.MakePaymentRequest, limits: PaymentsLimits): PaymentOrder['transaction'] {
  const raw = parseBytes(request.transactionRaw, limits.payerTransactionBytesMax)
  if (raw !== undefined && raw !== '0x') return { hash: keccak256(raw), raw }
  const hash = parseBytes32(request.transactionHash)
  return hash === undefined ? undefined : { hash, raw: undefined }
}

function keyOf(chainId: number, transaction: PaymentOrder['transaction'], payer: Address): string {
  if (transaction === undefined) throw new Error(`${payer} pays by neither a signature nor a transaction`)
  return `${TRANSACTION_KEY}:${chainId}:${transaction.hash}`
}
