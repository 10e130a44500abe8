import type { HoldRecord } from './holdRecord.ts'
import type { Windows } from './windows.ts'

/** What open holds have in their hands, by account, grant and key. */
export class HeldParts {
  readonly coinUnits = new Map<string, number>()
  readonly grantUnits = new Map<string, number>()
  /** By key: units of holds counted in the current hour, day and month, and in the key's life. */
  readonly keyUnits = new Map<string, KeySpending>()
  readonly #windows: Windows

  constructor(windows: Windows) {
    this.#windows = windows
  }

  add(hold: HoldRecord): void {
    increase(this.coinUnits, hold.accountId, hold.coinUnits)
    for (const { grantId, units } of hold.grants) increase(this.grantUnits, grantId, units)
    const key = this.keyUnits.get(hold.keyId) ?? { hour: 0, day: 0, month: 0, life: 0 }
    this.keyUnits.set(hold.keyId, key)
    if (hold.hour === this.#windows.hour) key.hour += hold.holdUnits
    if (hold.day === this.#windows.day) key.day += hold.holdUnits
    if (hold.month === this.#windows.month) key.month += hold.holdUnits
    key.life += hold.holdUnits
  }
}

/** Units spent or held by one key in its current windows. */
export interface KeySpending {
  hour: number
  day: number
  month: number
  life: number
}

export function increase(sums: Map<string, number>, name: string, units: number): void {
  sums.set(name, (sums.get(name) ?? 0) + units)
}
