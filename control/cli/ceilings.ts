import { SHARD_COUNT } from '../../contract/wire/redisKeys.ts'

/** The processes of an installation. */
export type ProcessName = 'proxy' | 'redis' | 'control' | 'postgres'

/** The most CPU time of a core per second, in microseconds: latency grows when a core is busy all of the time. */
export const BUSY_MICROS_MAX = 800_000

/** How far a process can be split today. */
export interface Split {
  /** The most cores that it can use, on any number of machines. */
  readonly coresMax: number
  readonly why: string
}

/** The limits of the present design; a change of the design changes this. */
export const SPLITS: Readonly<Record<ProcessName, Split>> = {
  proxy: { coresMax: Number.POSITIVE_INFINITY, why: 'more workers, more machines' },
  redis: { coresMax: SHARD_COUNT, why: 'the nodes of a cluster, which share 64 shards' },
  control: { coresMax: Number.POSITIVE_INFINITY, why: 'several controls share the streams' },
  // As measured: four concurrent transactions wait for no row of one another (bench/settlement.ts --lanes).
  postgres: { coresMax: 4, why: 'transactions of different shards are booked concurrently; counted with four of them' },
}

/** How many cores of a process a rate takes. */
export interface Need {
  readonly process: ProcessName
  readonly cores: number
  /** It can be split into as many. */
  readonly possible: boolean
}

/** The rate at which a process is as busy as it may be on all cores that it can use; infinite where it can be split. */
export function ceilingOf(microsPerRequest: number, { coresMax }: Split): number {
  return (coresMax * BUSY_MICROS_MAX) / microsPerRequest
}

/** The process that ends the whole installation, and at which rate; undefined when all of them can be split. */
export function firstCeiling(
  micros: Readonly<Record<ProcessName, number>>,
  splits: Readonly<Record<ProcessName, Split>>,
): { readonly process: ProcessName; readonly rate: number } | undefined {
  const [first] = processes(micros)
    .map((process) => ({ process, rate: ceilingOf(micros[process], splits[process]) }))
    .toSorted((a, b) => a.rate - b.rate)
  return first === undefined || first.rate === Number.POSITIVE_INFINITY ? undefined : first
}

/**
 * The cores that a rate takes of every process.
 * @param micros CPU time of a request by process, in microseconds
 * @param rate requests a second
 */
export function coresFor(
  micros: Readonly<Record<ProcessName, number>>,
  splits: Readonly<Record<ProcessName, Split>>,
  rate: number,
): Need[] {
  return processes(micros).map((process) => {
    const cores = Math.ceil((rate * micros[process]) / BUSY_MICROS_MAX)
    return { process, cores, possible: cores <= splits[process].coresMax }
  })
}

function processes(micros: Readonly<Record<ProcessName, number>>): ProcessName[] {
  return Object.keys(micros) as ProcessName[]
}
