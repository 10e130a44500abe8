import { spawnSync } from 'node:child_process'
import { availableParallelism, cpus, release, totalmem } from 'node:os'
import type { ProcessName } from '../control/cli/ceilings.ts'
import type { TargetReport } from '../control/load/report.ts'
import type { Background } from './background.ts'
import type { TargetName } from './cases.ts'
import type { LoadResult } from './load/options.ts'

/** The cost of a load to the measured processes. */
export interface Sample {
  /** CPU time of the target's processes while the load ran. */
  readonly cpuMicros: number
  /** CPU time of Redis meanwhile; 0 without Redis. */
  readonly redisMicros: number
  /** Memory of the target's processes when the load ended. */
  readonly residentBytes: number
  readonly load: LoadResult
}

/** One target under one load for one interval. */
export interface Measurement extends Sample {
  readonly case: string
  readonly round: number
  readonly target: TargetName
}

/** Whether the book agrees with the load. */
export interface Books {
  /** The name of the stack. */
  readonly title: string
  readonly requests: number
  readonly receipts: number
  readonly auditClean: boolean
  readonly auditOutput: string
}

/** Small answers with few and with many accounts, by turns. */
export interface AccountsResult {
  readonly few: number
  readonly many: number
  /** How many of the many send requests in `active`. */
  readonly active: number
  /** Seconds from the start of PostgreSQL until everything with `many` accounts was ready. */
  readonly startSeconds: number
  readonly rounds: {
    /** There are few accounts, and all of them send requests. */
    few: Sample
    /** There are many, and as few of them send requests. */
    loaded: Sample
    /** There are many, and many of them send requests. */
    active: Sample
  }[]
}

/** The processes of an installation. */
export const PROCESS_NAMES: readonly ProcessName[] = ['proxy', 'redis', 'control', 'postgres']
export type { ProcessName }

/** One load on a whole installation. */
export interface InstallationLoad {
  /** Few keys in use all the time, or keys of which each is used once. */
  readonly keys: 'hot' | 'cold'
  /** Workers of the one proxy. */
  readonly workers: number
  readonly round: number
  readonly requests: number
  readonly requestsPerSecond: number
  /** CPU time of all processes of each kind until all requests were booked. */
  readonly cpuMicros: Readonly<Record<ProcessName, number>>
}

/** The cost of a request to the whole installation. */
export interface InstallationResult {
  readonly hotKeys: number
  /** Keys of one load, of which each is used once. */
  readonly coldKeys: number
  readonly connections: number
  readonly loads: InstallationLoad[]
  /** CPU time that nginx spent on one of the requests, in microseconds: one figure a round. */
  readonly nginx: number[]
}

/** One load of `sluice load`, with Sluice and without a gateway by turns. */
export interface LoadTestResult {
  readonly title: string
  readonly sluice: TargetReport
  readonly direct: TargetReport
}

/** Memory of the gateway after a number of requests since the warm-up. */
export interface MemoryResult {
  readonly samples: { requests: number; residentBytes: number }[]
}

/** Booking into PostgreSQL; a run each. */
export interface SettlementResult {
  readonly runs: {
    receipts: number
    accounts: number
    elapsedMs: number
    /** Of control. */
    cpuMicrosPerReceipt: number
    /** Of all processes of PostgreSQL. Recordings from before it was measured have none. */
    postgresMicrosPerReceipt?: number
    walBytesPerReceipt?: number
  }[]
}

/** The worker's allocations in V8's heap under a load. */
export interface AllocationResult {
  readonly case: string
  readonly requests: number
  readonly events: number
  readonly bytes: number
  /** The functions that allocated most, with their bytes. */
  readonly top: { name: string; file: string; bytes: number }[]
}

export interface Machine {
  readonly cpu: string
  readonly cores: number
  readonly memoryBytes: number
  readonly kernel: string
  readonly node: string
  readonly redis: string
  readonly postgres: string
  /** Versions of the gateways of others, by target. */
  readonly gateways: Partial<Record<TargetName, string>>
}

export interface BenchResults {
  readonly at: string
  readonly machine: Machine
  readonly seconds: number
  readonly rounds: number
  /** A short run, whose figures mean nothing. */
  readonly quick: boolean
  /** Which core each part was kept on, or null where that was not possible. */
  readonly pinned: { measured: number; provider: number; load: number; others: number } | null
  /** How control and PostgreSQL were kept from taking CPU time of the measured processes. */
  background: Background
  measurements: Measurement[]
  accounts: AccountsResult | null
  /** Absent in the results of runs before there was one. */
  installation?: InstallationResult | null
  /** Absent in the results of runs before there were any. */
  loadTests?: LoadTestResult[]
  memory: MemoryResult | null
  settlement: SettlementResult | null
  allocations: AllocationResult[]
  readonly books: Books[]
}

/** Describes the machine and the versions of the participating programs. */
export function describeMachine(postgres: string, gateways: Machine['gateways']): Machine {
  const redis = spawnSync('redis-server', ['--version'], { encoding: 'utf8' })
  return {
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    cores: availableParallelism(),
    memoryBytes: totalmem(),
    kernel: release(),
    node: process.version,
    redis: /v=(\S+)/.exec(redis.stdout ?? '')?.[1] ?? 'unknown',
    postgres,
    gateways,
  }
}
