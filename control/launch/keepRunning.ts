import { setTimeout as sleep } from 'node:timers/promises'
import { backoffMs } from '../runtime/backoff.ts'
import type { LaunchLimits } from './limits.ts'
import type { ManagedProcess } from './process/managedProcess.ts'

// A process that ran this long was well; its next failure is not counted with the earlier ones.
const WELL_AFTER_MS = 60_000

/**
 * Restarts a process whenever it exits by itself, immediately at first and with growing backoff when it keeps failing.
 * @param start restarts it
 * @param report receives a sentence about each event
 * @returns a function that ends the watch
 */
export function keepRunning(
  process: ManagedProcess,
  start: () => Promise<void>,
  report: (text: string) => void,
  limits: LaunchLimits,
): () => void {
  let watching = true
  let failures = 0
  let startedMs = Date.now()

  const startAgain = async (reason: string): Promise<void> => {
    if (Date.now() - startedMs > WELL_AFTER_MS) failures = 0
    for (let why = reason; watching; ) {
      const delayMs = backoffMs(++failures, limits.restartDelayMs, limits.restartDelayMaxMs)
      report(`${process.definition.name} ended (${why}); starting it again in ${delayMs} ms`)
      await sleep(delayMs)
      if (!watching) return
      startedMs = Date.now()
      try {
        return await start()
      } catch (error) {
        why = error instanceof Error ? error.message : String(error)
      }
    }
  }

  process.onUnexpectedExit = (reason) => void startAgain(reason)
  return () => {
    watching = false
    process.onUnexpectedExit = undefined
  }
}
