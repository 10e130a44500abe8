import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { setPriority } from 'node:os'

const LOWEST = 19
const NORMAL = 0
const AUTOGROUP_SWITCH = '/proc/sys/kernel/sched_autogroup_enabled'

/** How processes were kept back, for the report. */
export type Background = 'autogroup' | 'nice' | 'none'

/**
 * Gives processes only the CPU time that the others on their core leave over. Where the kernel groups processes by
 * session (sched_autogroup, see sched(7)), a nice value counts within its session alone, so the weight of the session
 * itself is lowered.
 */
export function keepBack(pids: readonly number[]): Background {
  const grouped = usesAutogroups()
  const done = pids.map((pid) => (grouped ? weighGroup(pid, LOWEST) : lowerThreads(pid)))
  if (!done.every(Boolean)) return 'none'
  return grouped ? 'autogroup' : 'nice'
}

/** Lets processes run again as all others do; where only a nice value was lowered, they stay as they are. */
export function bringForward(pids: readonly number[]): void {
  if (!usesAutogroups()) return
  for (const pid of pids) weighGroup(pid, NORMAL)
}

function usesAutogroups(): boolean {
  try {
    return readFileSync(AUTOGROUP_SWITCH, 'utf8').trim() === '1'
  } catch {
    return false
  }
}

function weighGroup(pid: number, nice: number): boolean {
  return unlessGone(pid, () => writeFileSync(`/proc/${pid}/autogroup`, String(nice)))
}

// The nice value of Linux is one of each thread. Raising it again would take a privilege.
function lowerThreads(pid: number): boolean {
  return unlessGone(pid, () => {
    for (const thread of readdirSync(`/proc/${pid}/task`)) setPriority(Number(thread), LOWEST)
  })
}

/** Whether `act` worked; a process that has ended meanwhile needs nothing. */
function unlessGone(pid: number, act: () => void): boolean {
  try {
    act()
    return true
  } catch {
    return !isAlive(pid)
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
