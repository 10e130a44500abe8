import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import type { LaunchLimits } from '../limits.ts'

const CHECK_INTERVAL_MS = 50

/** The command line of a process, '' for an unknown id. */
function commandOf(pid: number): string {
  const file = `/proc/${pid}/cmdline`
  if (existsSync('/proc/self/cmdline')) {
    try {
      return readFileSync(file, 'utf8').replaceAll('\0', ' ')
    } catch {
      return ''
    }
  }
  return spawnSync('ps', ['-o', 'command=', '-p', String(pid)], { encoding: 'utf8' }).stdout ?? ''
}

/**
 * The process that a pid file names, if it is alive and runs the expected program.
 * @param program part of its command line, because ids are used again
 */
export function processOf(pidFile: string, program: RegExp): number | undefined {
  const pid = noted(pidFile)
  return pid !== undefined && runs(pid, program) ? pid : undefined
}

/** The content of a pid file, NaN where it is no number; undefined when there is no file. */
export function noted(pidFile: string): number | undefined {
  try {
    return Number.parseInt(readFileSync(pidFile, 'utf8'), 10)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

/** Whether another process with this id runs the program. */
export function runs(pid: number, program: RegExp): boolean {
  return Number.isSafeInteger(pid) && pid > 1 && pid !== process.pid && program.test(commandOf(pid))
}

/** Stops a server that an earlier run left behind because it was killed. */
export async function stopLeftover(
  pidFile: string,
  program: RegExp,
  signal: NodeJS.Signals,
  limits: LaunchLimits,
): Promise<void> {
  const pid = processOf(pidFile, program)
  if (pid === undefined) return
  process.kill(pid, signal)
  const deadlineMs = Date.now() + limits.shutdownTimeoutMs
  while (processOf(pidFile, program) === pid && Date.now() < deadlineMs) await sleep(CHECK_INTERVAL_MS)
  if (processOf(pidFile, program) === pid) process.kill(pid, 'SIGKILL')
}
