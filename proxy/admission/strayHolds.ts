import { MoneyFault } from '../../contract/money/moneyFault.ts'
import type { FixedArguments } from '../../contract/wire/scriptArguments.ts'
import { type Script, SettleCode } from '../../contract/wire/scripts.ts'
import { type Ending, type EndingWaiter, inBatches, type Settling, type StrayEnding, settleCall } from './ending.ts'
import type { AdmissionLimits } from './limits.ts'
import { notifyWaiter } from './notifyWaiter.ts'
import { ShardKeyCache } from './shardKeyCache.ts'

export interface StrayHoldsOptions {
  /** settle.lua */
  readonly script: Script
  readonly limits: AdmissionLimits
  readonly perShard: boolean
  /** Whether a call can reach Redis now; if not, nothing is sent. */
  readonly connected: () => boolean
  readonly onFault: (error: unknown) => void
  /** A steady clock; that of the process when absent. */
  readonly now?: () => number
}

/**
 * Voids holds that no request got, or that another process may have taken over: the answer of the call that took them was
 * lost, and the call itself may still be on its way. Each is searched until it is found, or for lostHoldWatchMs. They are
 * never charged, so they need no journal: when a process leaves any, the replay voids them.
 */
export class StrayHolds implements Settling {
  private readonly options: StrayHoldsOptions
  private readonly now: () => number
  private readonly shardKeys = new ShardKeyCache()
  private strays: StrayEnding[] = []
  private timer: NodeJS.Timeout | undefined
  private isStopped = false

  constructor(options: StrayHoldsOptions) {
    this.options = options
    this.now = options.now ?? (() => performance.now())
  }

  /** Holds that are being searched. */
  get size(): number {
    return this.strays.length
  }

  end(ending: Ending, keys: FixedArguments, waiter: EndingWaiter | null): void {
    const { limits, onFault } = this.options
    const isVoid = ending.chargeUnits < 0
    if (!isVoid) onFault(new MoneyFault('charged_once', ending.requestId, ending.chargeUnits, 0))
    else if (this.strays.length < limits.strayHoldsMax) this.strays.push({ ending, keys, sinceMs: this.now() })
    if (waiter !== null) setImmediate(() => notifyWaiter(waiter, (told) => tell(told, isVoid), onFault))
    this.lookLater(0)
  }

  stop(): void {
    this.isStopped = true
    clearTimeout(this.timer)
  }

  private lookLater(waitMs: number): void {
    if (this.isStopped || this.timer !== undefined || this.strays.length === 0) return
    this.timer = setTimeout(() => {
      void this.look().finally(() => {
        this.timer = undefined
        this.lookLater(this.options.limits.settleRetryMs)
      })
    }, waitMs)
  }

  private async look(): Promise<void> {
    const { limits, perShard, connected, onFault } = this.options
    for (const batch of inBatches([...this.strays], limits.holdBatchMax, perShard)) {
      if (!connected()) return
      try {
        await this.voidThose(batch)
      } catch (error) {
        onFault(error)
        return
      }
    }
  }

  private async voidThose(batch: readonly StrayEnding[]): Promise<void> {
    const { script, limits } = this.options
    const { keys, args } = settleCall(batch, limits.rememberResultMinutes, this.shardKeys)
    const reply = (await script(keys, args)) as number[]
    const nowMs = this.now()
    const done = new Set<StrayEnding>()
    for (const [i, stray] of batch.entries()) {
      const code = reply[i * 2]
      const isOver = code === SettleCode.UNKNOWN && nowMs - stray.sinceMs >= limits.lostHoldWatchMs
      if (isOver || (code !== SettleCode.UNKNOWN && code !== SettleCode.CLOSED)) done.add(stray)
    }
    this.strays = this.strays.filter((stray) => !done.has(stray))
  }
}

function tell(waiter: EndingWaiter, isVoid: boolean): void {
  if (isVoid) waiter.onSettled(0)
  else waiter.onSettleDelayed()
}
