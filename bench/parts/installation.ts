import { loadOptions } from '../bodies.ts'
import { checkBooks } from '../books.ts'
import { caseNamed, SMALL } from '../cases.ts'
import { cpuMicros } from '../cpu.ts'
import type { LoadTarget } from '../load/options.ts'
import type { Books, InstallationLoad, InstallationResult, ProcessName } from '../results.ts'
import type { Measured } from '../runner.ts'
import type { Settings } from '../settings.ts'
import { type Stack, startStack } from '../targets/stack.ts'
import { modelOf, sluiceMeasured, type World } from '../targets/world.ts'

const HOT_KEYS = 10
const COLD_KEYS = 3_000
const CONNECTIONS = 64
const WORKERS = [1, 2, 3, 4]
const COLD_SECONDS_MAX = 60
const WARM_UP_SECONDS = 2
/** Loads of cold keys before the first that counts: the code that only they run is compiled by then. */
const COLD_WARM_UPS = 3
/** The settings of a short run. */
const QUICK = { coldKeys: 100, coldWarmUps: 1, workers: [1, 2], warmUpSeconds: 0.3 }

/** A stack of a number of workers, and the place of the first of its keys that no request has had yet. */
interface Installation {
  readonly stack: Stack
  readonly one: Measured
  readonly workers: number
  readonly coldKeys: number
  nextKey: number
}

/**
 * Measures the cost of a small request to every process of an installation, booking included: with few keys that are always
 * in use, and with keys that are used once each. One stack per number of workers, one after the other; all processes run at
 * normal priority.
 * @param stops holds the functions that end a stack while it runs
 */
export async function measureInstallation(
  settings: Settings,
  world: World,
  stops: (() => Promise<void>)[],
  say: (line: string) => void,
): Promise<{ result: InstallationResult; books: Books[] }> {
  const coldKeys = settings.quick ? QUICK.coldKeys : COLD_KEYS
  const result: InstallationResult = { hotKeys: HOT_KEYS, coldKeys, connections: CONNECTIONS, loads: [], nginx: [] }
  const books: Books[] = []
  for (const workers of settings.quick ? QUICK.workers : WORKERS) {
    const installation = await start(settings, world, workers, coldKeys, stops)
    for (let round = 1; round <= settings.rounds; round++) {
      result.nginx.push(...(await nginxMicros(settings, world)))
      result.loads.push(await hotLoad(settings, world, installation, round))
      result.loads.push(await coldLoad(world, installation, round))
    }
    say(`${workers} workers`)
    const { stack } = installation
    books.push(await checkBooks(stack, `Installation, ${workers} workers`, world.runner.requestsTo(stack)))
    world.runner.remove(stack)
    await stops.pop()?.()
  }
  return { result, books }
}

// The cold keys of the warm-up and of every round differ, and all of them come after the hot keys.
async function start(
  settings: Settings,
  { ports, runner }: World,
  workers: number,
  coldKeys: number,
  stops: (() => Promise<void>)[],
): Promise<Installation> {
  const coldWarmUps = settings.quick ? QUICK.coldWarmUps : COLD_WARM_UPS
  const accounts = HOT_KEYS + coldKeys * (settings.rounds + coldWarmUps)
  const stack = await startStack({ ...ports, accounts, keysPerAccount: 1, proxyOnly: false, workers }, stops)
  runner.add(stack)
  const one = sluiceMeasured(stack, stack.proxy)
  const installation = { stack, one, workers, coldKeys, nextKey: HOT_KEYS }
  const seconds = settings.quick ? QUICK.warmUpSeconds : WARM_UP_SECONDS
  await runner.meetKeys(one, smallLoad(one, hotTarget(installation), seconds))
  for (let i = 0; i < coldWarmUps; i++) await coldLoad({ runner }, installation, 0)
  return installation
}

async function hotLoad(
  { seconds }: Settings,
  { runner }: World,
  installation: Installation,
  round: number,
): Promise<InstallationLoad> {
  const options = smallLoad(installation.one, hotTarget(installation), seconds)
  return measured(installation, 'hot', round, async () => (await runner.meetKeys(installation.one, options)).load)
}

async function coldLoad(
  { runner }: Pick<World, 'runner'>,
  installation: Installation,
  round: number,
): Promise<InstallationLoad> {
  const { one, stack, coldKeys, nextKey } = installation
  installation.nextKey += coldKeys
  const target = { ...one.target, keysFile: stack.keysFile(coldKeys, nextKey) }
  // The request that checks an answer in full before the load uses the first of the keys.
  const bounds = { requests: coldKeys - 1 }
  const options = { ...smallLoad(one, target, COLD_SECONDS_MAX), ...bounds }
  return measured(installation, 'cold', round, async () => (await runner.meetKeys(one, options)).load)
}

/** The CPU time of every process from the first request until all are booked. */
async function measured(
  { stack, workers }: Installation,
  keys: InstallationLoad['keys'],
  round: number,
  run: () => Promise<{ requests: number; requestsPerSecond: number }>,
): Promise<InstallationLoad> {
  await stack.booked()
  const before = cpuByProcess(stack)
  const { requests, requestsPerSecond } = await run()
  await stack.booked()
  const after = cpuByProcess(stack)
  const used = (name: ProcessName) =>
    [...after[name]].reduce((sum, [pid, cpu]) => sum + cpu - (before[name].get(pid) ?? 0), 0)
  const cpu = { proxy: used('proxy'), redis: used('redis'), control: used('control'), postgres: used('postgres') }
  return { keys, workers, round, requests: requests + 1, requestsPerSecond, cpuMicros: cpu }
}

/** CPU time by process id: PostgreSQL may start backends during the measurement. */
function cpuByProcess(stack: Stack): Record<ProcessName, Map<number, number>> {
  const of = (pids: readonly number[]) => new Map(pids.map((pid) => [pid, cpuMicros(pid)]))
  const { control, postgres } = stack.pids()
  return { proxy: of(stack.proxy.pids), redis: of([stack.redisPid]), control: of(control), postgres: of(postgres) }
}

function hotTarget({ one, stack }: Installation): LoadTarget {
  return { ...one.target, keysFile: stack.keysFile(HOT_KEYS) }
}

function smallLoad(one: Measured, target: LoadTarget, seconds: number) {
  const kind = caseNamed(SMALL)
  const options = loadOptions(kind, target, one.stack !== undefined, modelOf(kind, one))
  return { ...options, connections: CONNECTIONS, seconds }
}

/** CPU time of nginx for the same requests, if it takes part. */
async function nginxMicros({ seconds }: Settings, { measured: all, runner }: World): Promise<number[]> {
  const nginx = all.find(({ name }) => name === 'nginx')
  if (nginx === undefined) return []
  const sample = await runner.meetKeys(nginx, smallLoad(nginx, nginx.target, seconds))
  return [sample.cpuMicros / sample.load.requests]
}
