import { SettleCode } from '../../../contract/wire/scripts.ts'
import type { Ending, EndingWaiter } from '../../../proxy/admission/ending.ts'
import { keysOfEnding } from '../../../proxy/admission/ending.ts'
import { Journal } from '../../../proxy/admission/journal.ts'
import { Settlements, type SettlementsOptions } from '../../../proxy/admission/settlements.ts'
import { limits } from '../limits.ts'

/** What a waiter was told, in words. */
export interface ToldWaiter extends EndingWaiter {
  readonly told: string[]
}

export function waiterOf(throws = false): ToldWaiter {
  const told: string[] = []
  const note = (word: string) => {
    told.push(word)
    if (throws) throw new Error(`the waiter failed on ${word}`)
  }
  return {
    told,
    onSettled: (units) => note(`settled ${units}`),
    onSettleDelayed: () => note('delayed'),
    onCrashed: () => told.push('crashed'),
  }
}

export function endingOf(requestId: string, chargeUnits = 5): Ending {
  return {
    requestId,
    owner: 'own_test',
    accountId: 'acct_test',
    keyId: 'key_test',
    shard: 0,
    chargeUnits,
    settlement: '',
  }
}

/** Settlements over a Redis that a test answers for: codes by request id, or a promise that it settles when it likes. */
export function settlementsOver(
  folder: string,
  answer: (requestIds: string[]) => Promise<unknown> | unknown,
  options: Partial<SettlementsOptions> = {},
): { settlements: Settlements; faults: unknown[]; end: (ending: Ending, waiter?: EndingWaiter) => void } {
  const faults: unknown[] = []
  const onFault = (error: unknown) => faults.push(error)
  const settlements = new Settlements({
    schedule: setImmediate,
    script: async (_keys, args) => answer(args.filter((_, at) => at >= 2 && (at - 2) % 3 === 0).map(String)),
    limits: options.limits ?? limits,
    perShard: false,
    journal: new Journal(folder, options.limits ?? limits, onFault),
    connected: () => true,
    settleLost: async () => 0,
    onFault,
    ...options,
  })
  return { settlements, faults, end: (ending, waiter) => settlements.end(ending, keysOfEnding(ending), waiter ?? null) }
}

/** The answer of settle.lua that every one of the requests is settled with 5 units. */
export const allSettled = (requestIds: readonly string[]): number[] => requestIds.flatMap(() => [SettleCode.SETTLED, 5])
