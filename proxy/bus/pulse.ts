import type { Observed } from '../../contract/api/observedDays.ts'
import {
  CHAIN_HEALTHS,
  type ChainHealth,
  PAYMENT_STATES,
  type PaymentState,
  WITHDRAWAL_STATES,
  type WithdrawalState,
} from '../../contract/wire/chainHealth.ts'
import { sluice } from '../../contract/wire/generated/messages.js'
import { ControlUnavailable, type RpcClient } from './rpcClient.ts'

/** The state of the service as this process observes it. */
export interface Seen {
  /** Notes the state since the last call. */
  observe(): void
  /** The observations since the last call. */
  take(): readonly Observed[]
  /** Puts back observations that could not be reported. */
  keep(observed: readonly Observed[]): void
}

/** Measurements of registered providers by this process. */
export interface Measuring {
  /** The measurements since the last call. */
  take(): readonly sluice.RouteMeasure.$Properties[]
  /** Puts back measurements that could not be reported. */
  keep(measured: readonly sluice.RouteMeasure.$Properties[]): void
}

export interface PulseOptions {
  readonly rpc: Pick<RpcClient, 'call'>
  readonly intervalMs: number
  /** Called before each pulse, which reports the result to control, and after its answer. */
  readonly seen: Seen
  /** Their measurements are reported to control with each pulse as well. */
  readonly canaries: Measuring
  /** This process, which may have leases; '' for a process without leases. */
  readonly owner: string
  /** The least number of endings that this process will have had. */
  readonly begun: () => number
  /** Called with how far the endings of the owner are booked, by shard; a shard without endings is absent. */
  readonly onBooked: (positions: readonly BookedPosition[]) => void
}

export type BookedPosition = Readonly<Pick<sluice.BookedPosition, 'shard' | 'seq'>>

/** Asks control periodically whether it and its database are well, so that /health answers without asking. */
export class Pulse {
  /** The last answer was a good one. */
  alive = false
  /** The last call was answered, be it by a refusal because control's database is away. */
  answers = false
  /** The state of the chain by control's last report; while control does not answer, payments are unavailable. */
  chain: ChainHealth = 'unavailable'

  /** Whether withdrawals are accepted, by control's last report; while control does not answer, they are not. */
  withdrawals: WithdrawalState = 'not_configured'

  /** Whether payments can be made, by control's last report; while control does not answer, they cannot. */
  payments: PaymentState = 'not_configured'

  /** At the last answer control was loading the state that holds are taken on, so that nothing could be held for. */
  admissionClosed = false

  private readonly options: PulseOptions
  private timer: NodeJS.Timeout | undefined
  private stopped = false
  /** By performance.now(). */
  private answeredAtMs = performance.now()

  constructor(options: PulseOptions) {
    this.options = options
  }

  start(): void {
    this.ask()
  }

  stop(): void {
    this.stopped = true
    clearTimeout(this.timer)
  }

  /** How long control has answered nothing, in milliseconds; zero while it answers. */
  get silentMs(): number {
    return this.answers ? 0 : performance.now() - this.answeredAtMs
  }

  private noteAnswer(answers: boolean): void {
    this.answers = answers
    if (answers) this.answeredAtMs = performance.now()
  }

  private ask(): void {
    const { rpc, seen, canaries, owner, begun, onBooked, intervalMs } = this.options
    seen.observe()
    const observed = seen.take()
    const measured = canaries.take()
    rpc
      .call('ping', { observed: [...observed], measured: [...measured], owner, begun: begun() })
      .then(
        ({ chain, admissionClosed, booked, withdrawals, payments }) => {
          this.admissionClosed = admissionClosed
          this.alive = true
          this.noteAnswer(true)
          this.chain = CHAIN_HEALTHS.find((state) => state === chain) ?? 'not_configured'
          this.withdrawals = WITHDRAWAL_STATES.find((state) => state === withdrawals) ?? 'not_configured'
          this.payments = PAYMENT_STATES.find((state) => state === payments) ?? 'not_configured'
          return booked
        },
        (error: unknown) => {
          this.alive = false
          this.noteAnswer(!(error instanceof ControlUnavailable))
          seen.keep(observed)
          canaries.keep(measured)
          if (this.chain !== 'not_configured') this.chain = 'unavailable'
          if (this.withdrawals !== 'not_configured') this.withdrawals = 'paused'
          if (this.payments !== 'not_configured') this.payments = 'unavailable'
          return undefined
        },
      )
      .then((booked) => {
        seen.observe()
        if (!this.stopped) this.timer = setTimeout(() => this.ask(), intervalMs)
        if (booked !== undefined) onBooked(booked.map((position) => sluice.BookedPosition.create(position)))
      })
  }
}
