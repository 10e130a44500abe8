import { readdir } from 'node:fs/promises'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { Exposition, MetricType } from '../../contract/std/exposition.ts'

const RESOLUTION_MS = 10
const MICROSECONDS = 1e6
const NANOSECONDS = 1e9
const MILLISECONDS = 1_000

/** CPU time, memory and event-loop delay of this process, by the names that Prometheus libraries usually give them. */
export class ProcessMetrics {
  private readonly delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
  private readonly startedSeconds = (Date.now() - process.uptime() * MILLISECONDS) / MILLISECONDS

  constructor() {
    this.delay.enable()
  }

  stop(): void {
    this.delay.disable()
  }

  /** Delays are those since the last call. @param prefix of the names */
  async write(out: Exposition, prefix: string): Promise<void> {
    const { user, system } = process.cpuUsage()
    const { rss, heapTotal, heapUsed, external } = process.memoryUsage()
    const add = (name: string, help: string, type: MetricType, value: number) =>
      out.family(prefix + name, help, type).sample(value)
    add('process_cpu_user_seconds_total', 'CPU time spent in user mode', 'counter', user / MICROSECONDS)
    add('process_cpu_system_seconds_total', 'CPU time spent in the kernel', 'counter', system / MICROSECONDS)
    add('process_cpu_seconds_total', 'CPU time', 'counter', (user + system) / MICROSECONDS)
    add('process_start_time_seconds', 'When the process started, in seconds since 1970', 'gauge', this.startedSeconds)
    add('process_resident_memory_bytes', 'Resident memory', 'gauge', rss)
    add('nodejs_heap_size_total_bytes', 'Heap of V8', 'gauge', heapTotal)
    add('nodejs_heap_size_used_bytes', 'Heap of V8 in use', 'gauge', heapUsed)
    add('nodejs_external_memory_bytes', 'Memory of objects outside of the heap', 'gauge', external)
    for (const percent of [50, 99]) {
      const seconds = Math.max(0, this.delay.percentile(percent) / NANOSECONDS - RESOLUTION_MS / MILLISECONDS)
      const help = `p${percent} of the event-loop delay since the last scrape`
      add(`nodejs_eventloop_lag_p${percent}_seconds`, help, 'gauge', seconds)
    }
    this.delay.reset()
    // Only Linux has the folder.
    const open = await readdir('/proc/self/fd').catch(() => undefined)
    if (open !== undefined) add('process_open_fds', 'Open file descriptors', 'gauge', open.length)
  }
}
