import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { loadOptions } from '../bodies.ts'
import {
  caseNamed,
  PACED_CONNECTIONS,
  paced,
  SMALL,
  STREAM,
  STREAM_FLUSHED,
  STREAM_LONG,
  STREAM_SHORT,
} from '../cases.ts'
import { cpuMicros } from '../cpu.ts'
import { Inspector } from '../inspector.ts'
import type { CaseProfile, CpuProfile, HeapNode, Profiles } from '../profiles.ts'
import { allocations, selfTimes } from '../profiles.ts'
import type { AllocationResult, Sample } from '../results.ts'
import type { Settings } from '../settings.ts'
import type { World } from '../targets/world.ts'
import { modelOf, sluiceMeasured } from '../targets/world.ts'

const PROFILED = [SMALL, STREAM, STREAM_FLUSHED]
const ALLOCATING = [SMALL, STREAM_SHORT, STREAM_LONG, STREAM_FLUSHED, paced(PACED_CONNECTIONS[0])]
const SECONDS = 4
const SAMPLING_INTERVAL_US = 250
const HEAP_INTERVAL_BYTES = 16_384
const ROWS_MAX = 40
const TOP_ALLOCATIONS = 10

export interface ProfilePart {
  readonly profiles: Profiles
  readonly allocations: AllocationResult[]
}

/**
 * Records CPU and allocation profiles of the worker, each under a few loads. The inspector stays open in the
 * worker afterwards, so that nothing else should be measured on it.
 * @param folder gets the recordings as files that the developer tools of a browser open
 */
export async function recordProfiles(settings: Settings, world: World, folder: string): Promise<ProfilePart | null> {
  const { stack } = world
  const workerPid = stack?.proxy.pids[1]
  if (stack === undefined || workerPid === undefined) return null
  mkdirSync(folder, { recursive: true })
  const inspector = await Inspector.attach(workerPid, stack.proxy.logFile)
  const run = (name: string): Promise<Sample> => {
    const kind = caseNamed(name)
    const one = sluiceMeasured(stack, stack.proxy)
    const seconds = settings.quick ? settings.seconds : (kind.seconds ?? SECONDS)
    return world.runner.run(one, { ...loadOptions(kind, one.target, true, modelOf(kind, one)), seconds })
  }
  try {
    const cases: CaseProfile[] = []
    for (const name of PROFILED) cases.push(await recordTime(inspector, workerPid, name, () => run(name), folder))
    const allocated: AllocationResult[] = []
    for (const name of ALLOCATING) allocated.push(await recordAllocations(inspector, name, () => run(name)))
    return { profiles: { at: new Date().toISOString(), cases }, allocations: allocated }
  } finally {
    inspector.close()
  }
}

async function recordTime(
  inspector: Inspector,
  pid: number,
  name: string,
  run: () => Promise<Sample>,
  folder: string,
): Promise<CaseProfile> {
  await inspector.call('Profiler.enable')
  await inspector.call('Profiler.setSamplingInterval', { interval: SAMPLING_INTERVAL_US })
  await inspector.call('Profiler.start')
  const before = cpuMicros(pid)
  const { load } = await run()
  const used = cpuMicros(pid) - before
  const { profile } = await inspector.call<{ profile: CpuProfile }>('Profiler.stop')
  writeFileSync(join(folder, `${name}.cpuprofile`), JSON.stringify(profile))
  const { requests, events } = load
  return { case: name, requests, events, cpuMicros: used, rows: selfTimes(profile, ROWS_MAX) }
}

async function recordAllocations(
  inspector: Inspector,
  name: string,
  run: () => Promise<Sample>,
): Promise<AllocationResult> {
  await inspector.call('HeapProfiler.startSampling', {
    samplingInterval: HEAP_INTERVAL_BYTES,
    includeObjectsCollectedByMajorGC: true,
    includeObjectsCollectedByMinorGC: true,
  })
  const { load } = await run()
  const { profile } = await inspector.call<{ profile: { head: HeapNode } }>('HeapProfiler.stopSampling')
  return { case: name, requests: load.requests, events: load.events, ...allocations(profile.head, TOP_ALLOCATIONS) }
}
