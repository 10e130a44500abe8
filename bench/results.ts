import { spawnSync } from 'node:child_process'
import { availableParallelism, cpus, release, totalmem } from 'node:os'
import type { TargetName } from './cases.ts'
import type { LoadResult } from './load/options.ts'

/** One target under one load for one interval. */
export interface Measurement {
  case: string
  round: number
  target: TargetName
  /** CPU time of the target's processes while the load ran. */
  cpuMicros: number
  /** Memory of the target's processes when the load ended. */
  residentBytes: number
  load: LoadResult
}

/** Whether the book agrees with the load. */
export interface Books {
  requests: number
  receipts: number
  auditClean: boolean
  auditOutput: string
  /** Receipts that were not booked yet when the load ended, and how long they took. */
  backlog: number
  backlogSeconds: number
}

export interface Machine {
  cpu: string
  cores: number
  memoryBytes: number
  kernel: string
  node: string
  nginx: string
  redis: string
  postgres: string
}

export interface BenchResults {
  at: string
  machine: Machine
  seconds: number
  rounds: number
  /** Which core each part was kept on, or null where that was not possible. */
  pinned: { measured: number; provider: number; load: number; others: number } | null
  measurements: Measurement[]
  books: Books | null
}

/** Describes the machine and the versions of what takes part. */
export function describeMachine(nginx: string, postgres: string): Machine {
  const redis = spawnSync('redis-server', ['--version'], { encoding: 'utf8' })
  return {
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    cores: availableParallelism(),
    memoryBytes: totalmem(),
    kernel: release(),
    node: process.version,
    nginx,
    redis: /v=(\S+)/.exec(redis.stdout ?? '')?.[1] ?? 'unknown',
    postgres,
  }
}
