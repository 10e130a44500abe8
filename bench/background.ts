import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { setPriority } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

const LOWEST = 19
const NORMAL = 0
/** Where the first and the second version of control groups have the CPU time; see cgroups(7). */
const CGROUP_ROOTS = ['/sys/fs/cgroup/cpu', '/sys/fs/cgroup']
const IDLE_GROUP = `sluice-bench-${process.pid}`
const MEMBERS = 'cgroup.procs'
const GROUP_EMPTY_MS = 30_000
const GROUP_POLL_MS = 20
const AUTOGROUP_SWITCH = '/proc/sys/kernel/sched_autogroup_enabled'

/** How processes were kept back, for the report. */
export type Background = 'idle' | 'autogroup' | 'nice' | 'none'

/**
 * Gives processes only the CPU time that the others on their core leave idle. Any waking task preempts an idle control
 * group. Without control groups the processes get a low weight; where the kernel groups processes by session
 * (sched_autogroup, see sched(7)), a nice value counts within its session only, so the weight of the session is lowered.
 */
export function keepBack(pids: readonly number[]): Background {
  const group = idleGroup()
  if (group !== undefined && pids.every((pid) => moveTo(group, pid))) return 'idle'
  const grouped = usesAutogroups()
  const done = pids.map((pid) => (grouped ? weighGroup(pid, LOWEST) : lowerThreads(pid)))
  if (!done.every(Boolean)) return 'none'
  return grouped ? 'autogroup' : 'nice'
}

/** Lets processes run again as all others do; where only a nice value was lowered, they stay as they are. */
export function bringForward(pids: readonly number[]): void {
  const root = CGROUP_ROOTS.find((folder) => existsSync(join(folder, IDLE_GROUP)))
  if (root !== undefined) {
    for (const pid of pids) moveTo(root, pid)
    return
  }
  if (!usesAutogroups()) return
  for (const pid of pids) weighGroup(pid, NORMAL)
}

/** Removes the control group, once no process is in it any more: the kernel takes out one that was killed a little later. */
export async function removeIdleGroup(): Promise<void> {
  for (const group of CGROUP_ROOTS.map((root) => join(root, IDLE_GROUP)).filter((folder) => existsSync(folder))) {
    const untilMs = performance.now() + GROUP_EMPTY_MS
    while (readFileSync(join(group, MEMBERS), 'utf8') !== '' && performance.now() < untilMs) await sleep(GROUP_POLL_MS)
    try {
      rmdirSync(group)
    } catch (error) {
      // The group has the id of this process in its name, and weighs on nothing.
      console.error(`the control group ${group} stays: ${error instanceof Error ? error.message : String(error)}`)
    }
  }
}

/** The control group whose processes run only on an idle core; undefined where it is not supported. */
function idleGroup(): string | undefined {
  const root = CGROUP_ROOTS.find((folder) => existsSync(join(folder, MEMBERS)))
  if (root === undefined) return undefined
  const group = join(root, IDLE_GROUP)
  try {
    mkdirSync(group, { recursive: true })
    writeFileSync(join(group, 'cpu.idle'), '1')
    return group
  } catch {
    return undefined
  }
}

function moveTo(group: string, pid: number): boolean {
  return unlessGone(pid, () => writeFileSync(join(group, MEMBERS), String(pid)))
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
