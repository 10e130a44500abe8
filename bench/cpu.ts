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

/** Memory of a process that is in RAM, in bytes. */
export function residentBytes(pid: number): number {
  const match = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))
  return Number(match?.[1] ?? 0) * 1_024
}

/** Keeps a process and all its threads on one core. Returns false where taskset is missing or refuses. */
export function pinTo(core: number, pid: number): boolean {
  return spawnSync('taskset', ['-a', '-c', '-p', String(core), String(pid)]).status === 0
}

/** The parent of a process, 0 when it has gone. */
function parentOf(pid: number): number {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1])
  } catch {
    return 0
  }
}

/** Every living process below `pid`, itself not included. */
export function descendants(pid: number): number[] {
  const all = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
  const found: number[] = []
  for (let parents = [pid]; parents.length > 0; ) {
    const children = all.filter((child) => parents.includes(parentOf(child)))
    found.push(...children)
    parents = children
  }
  return found
}
