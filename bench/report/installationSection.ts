import { ceilingOf, coresFor, firstCeiling, SPLITS } from '../../control/cli/ceilings.ts'
import {
  type BenchResults,
  type InstallationLoad,
  type InstallationResult,
  PROCESS_NAMES,
  type ProcessName,
} from '../results.ts'

import { median } from './figures.ts'
import { digits, NOTHING, section, spread, table, whole } from './text.ts'

const TITLES: Readonly<Record<ProcessName, string>> = {
  proxy: 'proxy',
  redis: 'Redis',
  control: 'control',
  postgres: 'PostgreSQL',
}
const RATES = [10_000, 100_000, 1_000_000]

/** CPU time of a request by process, and where the installation ends. */
export function installationSection({ installation }: BenchResults): string {
  if (installation === null || installation === undefined || installation.loads.length === 0) return ''
  const { hotKeys, coldKeys, connections, nginx } = installation
  const compared =
    nginx.length === 0
      ? ''
      : ` nginx takes ${spread(nginx)} us for one of these requests; in brackets how many times as much.`
  return section(
    'The whole installation',
    table(['', ...PROCESS_NAMES.map((name) => TITLES[name]), 'all', 'requests a second'], costRows(installation)),
    `Microseconds of CPU time that a small request costs every process, from the first request until all of them are booked;
medians of the rounds. ${whole(hotKeys)} keys that are in use all the time, and ${whole(coldKeys)} keys a round of which each is used once,
over ${connections} connections.${compared} Load, provider and all processes share the cores of this machine, so that more
workers than cores show what they cost, and not what they carry.`,
    ...(['hot', 'cold'] as const).map((keys) => ceilingText(installation, keys)),
  )
}

function costRows({ loads, nginx }: InstallationResult): string[][] {
  const base = nginx.length === 0 ? undefined : median(nginx)
  const cell = (micros: number) =>
    base === undefined ? digits(micros) : `${digits(micros)} (${digits(micros / base)}x)`
  return (['hot', 'cold'] as const).flatMap((keys) =>
    [...new Set(loads.map(({ workers }) => workers))].flatMap((workers) => {
      const own = loads.filter((load) => load.keys === keys && load.workers === workers)
      if (own.length === 0) return []
      const costs = costsOf(own)
      const all = median(own.map((load) => PROCESS_NAMES.reduce((sum, name) => sum + costOf(load, name), 0)))
      const rate = median(own.map(({ requestsPerSecond }) => requestsPerSecond))
      const title = `${keys} keys, ${workers} ${workers === 1 ? 'worker' : 'workers'}`
      return [[title, ...PROCESS_NAMES.map((name) => cell(costs[name])), cell(all), whole(rate)]]
    }),
  )
}

/** The cores that one kind of keys needs at rates that this machine does not reach, by the costs with one worker. */
function ceilingText({ loads }: InstallationResult, keys: InstallationLoad['keys']): string {
  const fewest = Math.min(...loads.map(({ workers }) => workers))
  const own = loads.filter((load) => load.keys === keys && load.workers === fewest)
  if (own.length === 0) return ''
  const micros = costsOf(own)
  const rows = PROCESS_NAMES.map((name) => {
    const ceiling = ceilingOf(micros[name], SPLITS[name])
    const cores = RATES.map((rate) => {
      const need = coresFor(micros, SPLITS, rate).find(({ process }) => process === name)
      return need === undefined ? NOTHING : `${whole(need.cores)}${need.possible ? '' : ' (cannot)'}`
    })
    return [TITLES[name], ...cores, Number.isFinite(ceiling) ? whole(ceiling) : 'none', SPLITS[name].why]
  })
  const first = firstCeiling(micros, SPLITS)
  const end =
    first === undefined
      ? 'Every process can be split.'
      : `${TITLES[first.process]} ends the installation, at ${whole(first.rate)} requests a second.`
  return `Cores that each process takes with ${keys} keys, four fifths busy, if a request goes on costing what it costs with ${fewest === 1 ? 'one worker' : `${fewest} workers`}.
${end}

${table(['', ...RATES.map((rate) => `${whole(rate)} a second`), 'its ceiling, requests a second', 'how it is split today'], rows)}`
}

/** CPU time of a request by process, in microseconds: medians of loads. */
export function costsOf(loads: readonly InstallationLoad[]): Record<ProcessName, number> {
  const cost = (name: ProcessName) => median(loads.map((load) => costOf(load, name)))
  return { proxy: cost('proxy'), redis: cost('redis'), control: cost('control'), postgres: cost('postgres') }
}

function costOf({ cpuMicros, requests }: InstallationLoad, name: ProcessName): number {
  return cpuMicros[name] / requests
}
