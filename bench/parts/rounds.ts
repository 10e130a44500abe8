import { loadOptions } from '../bodies.ts'
import type { BenchCase } from '../cases.ts'
import { PACED_CONNECTIONS } from '../cases.ts'
import type { LoadOptions } from '../load/options.ts'
import type { Measurement } from '../results.ts'
import type { Measured } from '../runner.ts'
import type { Settings } from '../settings.ts'
import type { World } from '../targets/world.ts'
import { modelOf, ROTATED_KEYS } from '../targets/world.ts'

const WARM_UP_SECONDS = 1
const QUICK_WARM_UP_SECONDS = 0.3
const KEYS_SECONDS_MAX = 60
/** A paced stream of 100 chunks takes two seconds; a short run does without the many. */
const QUICK_PACED_MAX = PACED_CONNECTIONS[1]

/** Measures every case against every target, in rounds, so that disturbances of the machine affect all of them. */
export async function measureRounds(
  settings: Settings,
  world: World,
  show: (measurement: Measurement) => void,
): Promise<Measurement[]> {
  const measurements: Measurement[] = []
  const cases = settings.cases.filter(({ connections }) => !settings.quick || connections <= QUICK_PACED_MAX)
  const seconds = settings.quick ? QUICK_WARM_UP_SECONDS : WARM_UP_SECONDS
  for (const kind of cases) {
    // The first request of every key causes a lookup in control, which is slow.
    if (kind.rotatesKeys === true) await meetAllKeys(kind, world)
    for (const one of targetsOf(kind, world)) {
      await world.runner.meetKeys(one, { ...optionsOf(kind, one, world), seconds })
    }
  }
  for (let round = 1; round <= settings.rounds; round++) {
    for (const kind of cases) {
      if (kind.rounds !== undefined && round > kind.rounds) continue
      for (const one of targetsOf(kind, world)) {
        const options = optionsOf(kind, one, world)
        const seconds = settings.quick ? settings.seconds : (kind.seconds ?? settings.seconds)
        const sample = await world.runner.run(one, { ...options, seconds })
        const measurement = { case: kind.name, round, target: one.name, ...sample }
        measurements.push(measurement)
        show(measurement)
      }
    }
  }
  return measurements
}

async function meetAllKeys(kind: BenchCase, world: World): Promise<void> {
  const bounds = { requests: ROTATED_KEYS, seconds: KEYS_SECONDS_MAX }
  for (const one of targetsOf(kind, world)) {
    if (one.stack !== undefined) await world.runner.meetKeys(one, { ...optionsOf(kind, one, world), ...bounds })
  }
}

function targetsOf(kind: BenchCase, world: World): readonly Measured[] {
  return world.measured.filter(({ name }) => kind.targets.includes(name))
}

function optionsOf(kind: BenchCase, one: Measured, { stack }: World): LoadOptions {
  const rotates = kind.rotatesKeys === true && one.stack !== undefined && stack !== undefined
  const keys = rotates ? { keysFile: stack.keysFile(ROTATED_KEYS) } : {}
  const port = kind.tls === true ? (one.tlsPort ?? one.target.port) : one.target.port
  const target = { ...one.target, ...keys, port }
  return loadOptions(kind, target, one.name === 'sluice', modelOf(kind, one))
}

/** One line on a measurement, to show progress. */
export function progressLine({ case: name, round, target, cpuMicros, load }: Measurement): string {
  const each = (cpuMicros / load.requests).toFixed(1)
  const rate = Math.round(load.requestsPerSecond)
  const label = `round ${round}  ${name.padEnd(15)} ${target.padEnd(10)}`
  return `${label} ${String(rate).padStart(7)} req/s  ${each.padStart(8)} us/req`
}
