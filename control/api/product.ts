import type { Logger } from 'pino'
import type { sluice } from '../../contract/wire/generated/messages.js'
import type { Redis } from '../../contract/wire/redis.ts'
import type { Debits } from '../admission/debits/debit.ts'
import type { CatalogKey } from '../catalog/signing/catalogKey.ts'
import type { OnChain, OnChainStart } from '../chain/chainParts.ts'
import type { ChainService } from '../chain/chainService.ts'
import type { ChainState } from '../chain/chainState.ts'
import type { PaymentsConfig } from '../chain/paymentsConfig.ts'
import type { OutcomeHandlers } from '../chain/recorder.ts'
import type { Limits } from '../limits.ts'
import type { RpcHandlers } from '../runtime/bus/rpcOperations.ts'
import type { Client, Pool } from '../runtime/db/pool.ts'
import type { GaugeGroup, LabelledTotal } from '../runtime/metrics/metricGroups.ts'
import type { ApiHandlers } from './call.ts'

/** The settings of the operator that products read. */
export interface ProductSettings {
  /** Shared with the proxies. */
  readonly busKeys: readonly Buffer[]
  /** Whether customers may register endpoints with private addresses and without TLS. */
  readonly allowPrivateProviders: boolean
  /** Signs the attestations of the reserve; undefined where nothing is signed. */
  readonly catalogKey?: CatalogKey | undefined
  /** From one attestation of the reserve to the next. */
  readonly attestationSeconds: number
  /** How payments are taken; undefined for none. */
  readonly payments?: PaymentsConfig | undefined
}

/** The parts that products are made with. */
export interface ProductParts {
  readonly pool: Pool
  readonly redis: Redis
  readonly log: Logger
  readonly debits: Debits
  /** Applies bookings for these accounts to the admission state. */
  readonly applyToAdmission: (accountIds: readonly string[]) => Promise<unknown>
  readonly environment: ProductSettings
  /** Undefined where the gateway has no chain. */
  readonly chain: ChainService | undefined
  /** Whether payments are taken, as it was last looked at. */
  readonly chainState: Pick<ChainState, 'payments'>
  readonly limits: Limits
}

/** The parts of a ping's answer that products add. */
export interface PingPart {
  /** One of WITHDRAWAL_STATES. */
  readonly withdrawals?: string
}

/** A product as it runs in this process. */
export interface RunningProduct {
  /** Handlers of its operations of the account API. */
  readonly handlers: Partial<ApiHandlers>
  /** Handlers of the calls of proxies that are its own. */
  readonly rpc?: Partial<RpcHandlers>
  /** Its part of each ping of a proxy. @returns members of the answer */
  readonly onPing?: (ping: sluice.PingRequest) => Promise<PingPart>
  /** Called when ended requests were booked. */
  readonly onBooked?: () => void
  readonly gauges?: readonly GaugeGroup[]
  readonly totals?: readonly LabelledTotal[]
  /** Begins its loops, once admission is open. @returns what ends them */
  readonly start?: () => ReadonlyArray<{ readonly name: string; stop(): Promise<unknown> }>
  /** Ends what it began when it was made. */
  readonly stop?: () => Promise<unknown>
}

/** Anything that the gateway sells except requests: one folder below products/, and one row in the table of products. */
export interface Product {
  readonly name: string
  /** How it books the outcomes of its transactions. */
  readonly outcomes?: OutcomeHandlers
  readonly onChain?: OnChainStart<OnChain>
  /**
   * Allows one of its transfers that is not sent more attempts, in the caller's transaction.
   * @param id as the operator names it
   * @returns whether it has such a one
   */
  readonly allowAttempts?: (client: Client, id: string, limits: Limits) => Promise<boolean>
  make(parts: ProductParts): RunningProduct
}
