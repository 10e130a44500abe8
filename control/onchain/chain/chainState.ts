import type { Logger } from 'pino'
import type { ChainHealth } from '../../../contract/wire/chainHealth.ts'
import type { Limits } from '../../limits.ts'
import { Loop } from '../../runtime/loop.ts'
import { createChainClient } from './chainClient.ts'

export interface ChainStateOptions {
  /** Undefined where the operator has named no chain. */
  readonly rpcUrl: string | undefined
  /** The chain that payments are on; undefined takes any. */
  readonly chainId: number | undefined
  readonly log: Logger
  readonly limits: Limits
}

/** Asks the node of the chain now and then whether it is there, so that the state of the chain is told without asking. */
export class ChainState {
  /** As of the last look. */
  state: ChainHealth = 'not_configured'
  /** Resolves after the first look. */
  readonly known: Promise<void>
  private readonly loop: Loop | undefined

  constructor({ rpcUrl, chainId, log, limits }: ChainStateOptions) {
    if (rpcUrl === undefined) {
      this.known = Promise.resolve()
      return
    }
    this.state = 'unavailable'
    const client = createChainClient(rpcUrl, limits)
    let looked = (): void => {}
    this.known = new Promise((resolve) => {
      looked = resolve
    })
    this.loop = new Loop('chain state', limits.chainCheckMs, log, async () => {
      const found = await client.getChainId().catch(() => undefined)
      const isRight = found !== undefined && (chainId === undefined || found === chainId)
      this.state = isRight ? 'ok' : 'unavailable'
      looked()
    })
  }

  async stop(): Promise<void> {
    await this.loop?.stop()
  }
}
