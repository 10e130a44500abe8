import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'

/**
 * CPU time that a process has used in all its threads, user and kernel together, in microseconds: the scheduler's own
 * nanosecond count (Linux, Documentation/scheduler/sched-stats.rst). Threads that have ended are not in it.
 */
export function cpuMicros(pid: number): number {
  let nanos = 0
  for (const thread of readdirSync(`/proc/${pid}/task`)) {
    try {
      nanos += Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ')[0])
    } catch {
      // The thread ended between the two reads.
    }
  }
  return nanos / 1_000
}

/** The length of a clock tick of /proc on Linux, in microseconds. */
const TICK_MICROS = 10_000

/**
 * CPU time that a process and its children have used, user and kernel together, in microseconds; also children that have
 * ended, if it has waited for them. Exact to a hundredth of a second for each of them.
 */
export function familyCpuMicros(pid: number): number {
  const [user = 0, system = 0, endedUser = 0, endedSystem = 0] = ticksOf(pid)
  let ticks = user + system + endedUser + endedSystem
  for (const child of childrenOf(pid)) {
    const [childUser = 0, childSystem = 0] = ticksOf(child)
    ticks += childUser + childSystem
  }
  return ticks * TICK_MICROS
}

/** Clock ticks of a process in user mode and in the kernel, then those of its ended children; none when it has exited. */
function ticksOf(pid: number): number[] {
  return statOf(pid).slice(11, 15).map(Number)
}

/** Memory of a process that is in RAM, in bytes. */
export function residentBytes(pid: number): number {
  const match = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))
  return Number(match?.[1] ?? 0) * 1_024
}

/** Keeps a process and all its threads on one core. Returns false where taskset is missing or refuses. */
export function pinTo(core: number, pid: number): boolean {
  return spawnSync('taskset', ['-a', '-c', '-p', String(core), String(pid)]).status === 0
}

/** The fields of /proc/PID/stat after the name of the program, its state first; none when the process has exited. */
function statOf(pid: number): string[] {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  } catch {
    return []
  }
}

/** The parent of a process, 0 when it has exited. */
function parentOf(pid: number): number {
  return Number(statOf(pid)[1] ?? 0)
}

function childrenOf(pid: number): number[] {
  return living().filter((one) => parentOf(one) === pid)
}

function living(): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
}

/** Every living process below `pid`, itself not included. */
export function descendants(pid: number): number[] {
  const all = living()
  const found: number[] = []
  for (let parents = [pid]; parents.length > 0; ) {
    const children = all.filter((child) => parents.includes(parentOf(child)))
    found.push(...children)
    parents = children
  }
  return found
}
