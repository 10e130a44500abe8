import type { Logger } from 'pino'
import type { CatalogKey } from '../../catalog/signing/catalogKey.ts'
import type { PaymentsConfig } from '../../chain/paymentsConfig.ts'
import type { Pool } from '../../runtime/db/pool.ts'
import { AttestationKeeper } from './attestationKeeper.ts'
import type { ReserveLimits } from './limits.ts'
import { reserveChain } from './reserveChain.ts'
import { ReserveKeeper } from './reserveKeeper.ts'

export interface ReserveServiceOptions {
  readonly pool: Pool
  readonly log: Logger
  readonly limits: ReserveLimits
  /** Undefined without a chain: then only the debts are read and attested. */
  readonly payments?: PaymentsConfig | undefined
  /** Signs attestations; without it none are made. */
  readonly catalogKey?: CatalogKey | undefined
  readonly attestationSeconds: number
}

/** Reads the reserve and attests it. */
export class ReserveService {
  private readonly keepers: readonly { stop(): Promise<void> }[]

  constructor({
    pool,
    log,
    limits,
    payments,
    catalogKey: key,
    attestationSeconds: intervalSeconds,
  }: ReserveServiceOptions) {
    const parts = { pool, log, limits, chain: payments && reserveChain(payments, limits) }
    const readings = new ReserveKeeper(parts)
    this.keepers =
      key === undefined ? [readings] : [readings, new AttestationKeeper({ ...parts, key, intervalSeconds })]
  }

  async stop(): Promise<void> {
    await Promise.all(this.keepers.map((keeper) => keeper.stop()))
  }
}
