import type { ChainHealth, PaymentState, WithdrawalState } from '../../contract/wire/chainHealth.ts'

/** The state of the parts that the process depends on, as it knows them without asking. */
export interface Vitals {
  /** Redis is connected, and takes writes. */
  readonly redis: boolean
  /** Control has answered that it and its database are well. */
  readonly control: boolean
  /** How long control has answered nothing, in milliseconds; zero while it answers, also when its database is away. */
  readonly controlSilentMs: number
  /** The journal can be written; without it no request is admitted. */
  readonly journal: boolean
  /** By control's last report. */
  readonly chain: ChainHealth
  /** By control's last report. */
  readonly withdrawals: WithdrawalState
  /** By control's last report. */
  readonly payments: PaymentState
  readonly draining: boolean
}

/** Why a process in this state can admit no request. */
export function hindrances({ redis, journal, draining }: Pick<Vitals, 'redis' | 'journal' | 'draining'>): string[] {
  const reasons: string[] = []
  if (!redis) reasons.push('redis')
  if (!journal) reasons.push('journal')
  if (draining) reasons.push('draining')
  return reasons
}

/** The state of control that a process knows, and control's reports. */
type Reports = Pick<Vitals, 'chain' | 'payments' | 'withdrawals'> & {
  readonly alive: boolean
  readonly silentMs: number
}

/** The state of all parts. @param own what the process sees by itself */
export function vitalsOf(
  own: Pick<Vitals, 'redis' | 'journal' | 'draining'>,
  { alive: control, silentMs: controlSilentMs, chain, payments, withdrawals }: Reports,
): Vitals {
  return { ...own, control, controlSilentMs, chain, payments, withdrawals }
}
