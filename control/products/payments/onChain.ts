import { setTimeout as sleep } from 'node:timers/promises'
import type { PaymentTerms } from '../../../contract/payments/terms.ts'
import type { ChainOptions, ChainParts, OnChain, OnChainStart } from '../../chain/chainParts.ts'
import { ContractWallets } from '../../chain/contractSignature.ts'
import { DepositScanner } from './deposits/depositScanner.ts'
import { Deposits } from './deposits/deposits.ts'
import { Refunder } from './refunds/refunds.ts'
import { Withdrawer } from './withdrawals/withdrawals.ts'
import { PaymentCloser } from './x402/closer.ts'
import { PaymentSettler } from './x402/settler.ts'

const STOP_CHECK_MS = 20
/** Time to verify and send a payment, as in the reference facilitator of x402, and to get it into a block. */
const SETTLEMENT_SECONDS = 6
const SETTLEMENT_BLOCKS = 2

/** Payments, deposits, refunds and withdrawals on the chain. */
export interface PaymentsOnChain extends OnChain {
  readonly terms: PaymentTerms
  /** Makes payments and takes the holds of their requests. */
  readonly settler: PaymentSettler
  /** Takes gasless deposits. */
  readonly deposits: Deposits
  readonly withdrawer: Withdrawer
  /** To be called when requests were booked, so that refunds do not wait for the next poll. */
  onBooked(): void
}

/** Begins to take payments. */
export const PAYMENTS_ON_CHAIN: OnChainStart<PaymentsOnChain> = {
  start(options, parts) {
    const { pool, redis, log, limits, config } = options
    const { chainId, treasury, relayers, agentRegistry } = config
    const common = { pool, chainId, log, limits, ...parts }
    const contracts = new ContractWallets(config.rpcUrl, limits)
    const settler = new PaymentSettler({ ...common, redis, contracts, relayers, agentRegistry })
    const refunder = new Refunder({ ...common, treasury })
    const { closer, scanner } = startReaders(options, parts, settler, refunder)
    const deposits = new Deposits({ ...common, contracts, relayers, treasury: treasury.address })
    const withdrawer = new Withdrawer({ ...common, treasury })
    return {
      terms: termsOf(options, parts),
      settler,
      deposits,
      withdrawer,
      onBooked: () => closer.wake(),
      stop: async (timeoutMs) => {
        const deadlineMs = performance.now() + timeoutMs
        while (settler.size > 0 && performance.now() < deadlineMs) await sleep(STOP_CHECK_MS)
        await Promise.all([closer, refunder, scanner, deposits, withdrawer].map((part) => part.stop()))
      },
    }
  },
}

function startReaders(
  { pool, redis, log, limits, config, accountOfWallet, coinUsdUnits }: ChainOptions,
  { chain }: ChainParts,
  settler: PaymentSettler,
  refunder: Refunder,
) {
  const { assets, refundMinUnits, treasury, depositConfirmations: confirmations, finalBlocks } = config
  const closer = new PaymentCloser({
    pool,
    redis,
    log,
    coinUsdUnits,
    assets,
    refundMinUnits,
    resolveUnmoved: (payment) => settler.resolveUnmoved(payment),
    onClosed: () => refunder.wake(),
    limits,
  })
  const scanner = new DepositScanner({
    pool,
    chain,
    log,
    accountOfWallet,
    coinUsdUnits,
    assets,
    treasury: treasury.address,
    confirmations,
    finalBlocks,
    limits,
  })
  return { closer, scanner }
}

function termsOf({ config }: ChainOptions, { quoteSecret }: ChainParts): PaymentTerms {
  const { chainId, treasury, assets, agentRegistry, relayers, minChargeUnits, blockSeconds } = config
  return {
    chainId,
    payTo: treasury.address,
    assets,
    agentRegistry,
    spender: relayers[0].address,
    quoteSecret,
    minUnits: minChargeUnits,
    marginSeconds: SETTLEMENT_SECONDS + SETTLEMENT_BLOCKS * blockSeconds,
  }
}
