import { WorkerPool } from '../workers/pool.ts'
import type { Pulse } from './bus/pulse.ts'
import type { RpcClient } from './bus/rpcClient.ts'
import type { CatalogStore } from './catalog/catalogStore.ts'
import type { ProxyConfig } from './config.ts'
import type { Limits } from './limits.ts'
import type { faultLog } from './logEvents.ts'
import type { PaymentServices } from './payments/paidRequest.ts'
import { TermsCache } from './payments/termsCache.ts'
import { PaymentVerifier } from './payments/verifier.ts'

interface PaymentPartsOptions {
  readonly config: Pick<ProxyConfig, 'publicUrl' | 'trustedProxies'>
  readonly rpc: RpcClient
  readonly catalog: CatalogStore
  readonly pulse: Pick<Pulse, 'payments'>
  readonly owner: string
  readonly limits: Limits
  readonly fault: ReturnType<typeof faultLog>
}

/** The parts for requests that are paid one by one, and the threads that verify their payments. */
export function paymentParts({ config, rpc, catalog, pulse, owner, limits, fault }: PaymentPartsOptions): {
  readonly payments: PaymentServices
  readonly verifying: WorkerPool
} {
  const verifying = new WorkerPool({
    threadsMax: limits.verifyThreadsMax,
    idleTimeoutMs: limits.verifyThreadIdleMs,
    queueMax: limits.verifyPendingMax,
    taskTimeoutMs: limits.verifyTimeoutMs,
    onFault: fault('thread_failed'),
  })
  const { publicUrl, trustedProxies } = config
  const terms = new TermsCache(rpc, () => pulse.payments !== 'unavailable', limits)
  const verifier = new PaymentVerifier(verifying, limits)
  const onFault = fault('payment_failed')
  return {
    payments: { rpc, catalog, limits, owner, publicUrl, trustedProxies, terms, verifier, onFault },
    verifying,
  }
}
