import { Loop } from '../../../runtime/loop.ts'
import { callHttp } from '../../../runtime/net/httpCall.ts'
import type { Measure } from './measures.ts'
import { payProviders } from './payProviders.ts'
import { Prober } from './prober.ts'
import { ServingKeeper, type ServingKeeperParts } from './servingKeeper.ts'

/** The services for registered providers that serve: admission, comparisons of their answers, their pay. */
export class ServingService {
  private readonly keeper: ServingKeeper
  private readonly prober: Prober
  private readonly payer: Loop

  constructor(parts: ServingKeeperParts) {
    const { pool, log, limits, allowPrivateProviders: allowPrivate } = parts
    this.keeper = new ServingKeeper(parts)
    this.prober = new Prober({ pool, log, call: callHttp, allowPrivate, environment: process.env, limits })
    this.payer = new Loop('shares of providers', limits.providerPayMs, log, async () => {
      if (await payProviders(pool, limits)) this.payer.wake()
    })
  }

  /** Stores a proxy's measurements. */
  measured(measures: readonly Measure[]): Promise<void> {
    return this.keeper.measured(measures)
  }

  async stop(): Promise<void> {
    await Promise.all([this.keeper.stop(), this.prober.stop(), this.payer.stop()])
  }
}
