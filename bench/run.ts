import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { projectRoot } from '../control/launch/paths.ts'
import { checkBooks, postgresVersion } from './books.ts'
import type { BenchCase, TargetName } from './cases.ts'
import { CASES, loadOptions, TARGET_NAMES } from './cases.ts'
import type { Child } from './child.ts'
import { loadOnce, startChild } from './child.ts'
import { cpuMicros, pinTo, residentBytes } from './cpu.ts'
import type { LoadTarget } from './load/options.ts'
import { startNginx } from './nginx.ts'
import { reportText } from './report.ts'
import type { BenchResults, Measurement } from './results.ts'
import { describeMachine } from './results.ts'
import type { Stack } from './stack.ts'
import { startStack } from './stack.ts'

const WARM_UP_SECONDS = 2

/** A target with the processes whose CPU time counts. */
interface Measured {
  name: TargetName
  target: LoadTarget
  pids: readonly number[]
}

interface Settings {
  seconds: number
  rounds: number
  quick: boolean
  targets: readonly TargetName[]
  cases: readonly BenchCase[]
}

function readSettings(): Settings {
  const { values } = parseArgs({
    options: {
      seconds: { type: 'string', default: process.env['BENCH_SECONDS'] },
      rounds: { type: 'string', default: process.env['BENCH_ROUNDS'] },
      quick: { type: 'boolean', default: process.env['BENCH_QUICK'] === '1' },
      targets: { type: 'string', default: TARGET_NAMES.join(',') },
      cases: { type: 'string', default: CASES.map((kind) => kind.name).join(',') },
    },
  })
  const quick = values.quick === true
  const seconds = Number(values.seconds ?? (quick ? 1 : 2))
  const rounds = Number(values.rounds ?? (quick ? 1 : 5))
  if (!(seconds > 0) || !(rounds >= 1)) throw new Error('--seconds and --rounds are positive numbers')
  const wanted = values.targets.split(',')
  const cases = values.cases.split(',')
  return {
    ...{ seconds, rounds, quick, targets: TARGET_NAMES.filter((name) => wanted.includes(name)) },
    cases: CASES.filter((kind) => cases.includes(kind.name)),
  }
}

/** Starts everything, measures in interleaved rounds, checks the books, writes results and report, stops everything. */
async function main(): Promise<void> {
  const settings = readSettings()
  const stops: (() => Promise<void>)[] = []
  const stopAll = async () => {
    for (const stop of stops.splice(0).reverse()) await stop()
  }
  process.on('SIGINT', () => void stopAll().then(() => process.exit(130)))
  process.on('SIGTERM', () => void stopAll().then(() => process.exit(143)))
  try {
    const provider = await startChild('provider.js', ['--port', '0'])
    stops.push(() => provider.stop())
    const load = await startChild('load/main.js', [])
    stops.push(() => load.stop())
    const providerPort = provider.ready['port'] ?? 0
    const nginx = await startNginx(providerPort)
    stops.push(() => nginx.stop())
    const stack = settings.targets.includes('sluice') ? await startStack(providerPort) : undefined
    if (stack !== undefined) stops.push(() => stack.stop())
    const measured = [
      { name: 'nginx' as const, target: targetAt('nginx', nginx.port), pids: [nginx.workerPid] },
      { name: 'direct' as const, target: targetAt('direct', providerPort), pids: [provider.pid] },
    ] as Measured[]
    if (stack !== undefined) measured.push(sluiceTarget(stack))
    const pinned = pinAll([nginx.masterPid, nginx.workerPid], stack, provider, load)
    const results: BenchResults = {
      at: new Date().toISOString(),
      machine: describeMachine(nginx.version, await postgresVersion(stack)),
      ...{ seconds: settings.seconds, rounds: settings.rounds, pinned, measurements: [], books: null },
    }
    const order = settings.targets.flatMap((name) => measured.filter((one) => one.name === name))
    const requests = await measureAll(settings, order, load, results)
    if (stack !== undefined) results.books = await checkBooks(stack, requests)
    finish(results, settings.quick)
  } finally {
    await stopAll()
  }
}

function targetAt(name: TargetName, port: number): LoadTarget {
  return { name, host: '127.0.0.1', port, path: '/v1/chat/completions' }
}

function sluiceTarget(stack: Stack): Measured {
  const target = { ...targetAt('sluice', stack.port), authorization: `Bearer ${stack.apiKey}` }
  return { name: 'sluice', target, pids: stack.proxyPids }
}

/** The measured processes get the first core, and everything else stays off it. */
function pinAll(
  nginxPids: readonly number[],
  stack: Stack | undefined,
  provider: Child,
  load: Child,
): BenchResults['pinned'] {
  const last = availableParallelism() - 1
  if (last < 1) return null
  const pinned = { measured: 0, provider: 1, load: Math.min(2, last), others: last }
  const done = [...nginxPids, ...(stack?.proxyPids ?? [])].map((pid) => pinTo(pinned.measured, pid))
  done.push(pinTo(pinned.provider, provider.pid), pinTo(pinned.load, load.pid))
  for (const pid of stack?.otherPids() ?? []) pinTo(pinned.others, pid)
  return done.every(Boolean) ? pinned : null
}

/** Runs every round; returns how many requests Sluice was sent, warm-up and checks included. */
async function measureAll(
  settings: Settings,
  order: readonly Measured[],
  load: Child,
  results: BenchResults,
): Promise<number> {
  let metered = 0
  // Every run begins with one request that is checked and not timed.
  const count = (one: Measured, requests: number) => {
    if (one.name === 'sluice') metered += requests + 1
  }
  for (const kind of settings.cases) {
    for (const one of order) {
      const options = loadOptions(kind, one.target, one.name === 'sluice', settings.quick ? 1 : WARM_UP_SECONDS)
      count(one, (await loadOnce(load, options)).requests)
    }
  }
  for (let round = 1; round <= settings.rounds; round++) {
    for (const kind of settings.cases) {
      if (kind.rounds !== undefined && round > kind.rounds) continue
      for (const one of order) {
        const measurement = await measure(kind, one, load, round, settings.seconds)
        results.measurements.push(measurement)
        count(one, measurement.load.requests)
        process.stdout.write(`${progressLine(measurement)}\n`)
      }
    }
  }
  return metered
}

async function measure(
  kind: BenchCase,
  one: Measured,
  load: Child,
  round: number,
  seconds: number,
): Promise<Measurement> {
  const used = () => one.pids.reduce((sum, pid) => sum + cpuMicros(pid), 0)
  const before = used()
  const result = await loadOnce(load, loadOptions(kind, one.target, one.name === 'sluice', seconds))
  const measurement = {
    ...{ case: kind.name, round, target: one.name, cpuMicros: used() - before },
    residentBytes: one.pids.reduce((sum, pid) => sum + residentBytes(pid), 0),
    load: result,
  }
  if (result.wrong > 0) throw new Error(`${one.name}, ${kind.title}: ${result.wrong} wrong answers`)
  return measurement
}

function progressLine({ case: name, round, target, cpuMicros: micros, load }: Measurement): string {
  const each = (micros / load.requests).toFixed(1)
  const rate = Math.round(load.requestsPerSecond)
  return `round ${round}  ${name.padEnd(11)} ${target.padEnd(7)} ${String(rate).padStart(7)} req/s  ${each} us/req`
}

function finish(results: BenchResults, quick: boolean): void {
  const folder = join(projectRoot, 'bench/results')
  mkdirSync(folder, { recursive: true })
  const text = reportText(results)
  if (!quick) {
    for (const old of readdirSync(folder)) if (old.endsWith('.json')) rmSync(join(folder, old))
    writeFileSync(join(folder, 'last.json'), `${JSON.stringify(results, null, 1)}\n`)
    writeFileSync(join(projectRoot, 'bench/REPORT.md'), text)
  }
  process.stdout.write(`\n${text}`)
}

await main()
