import { loadOptions } from '../bodies.ts'
import { caseNamed, SMALL, STREAM_SHORT } from '../cases.ts'
import type { MemoryResult } from '../results.ts'
import type { Settings } from '../settings.ts'
import type { World } from '../targets/world.ts'
import { modelOf, sluiceMeasured } from '../targets/world.ts'

const REQUESTS = 500_000
const QUICK_REQUESTS = 10_000
const SLICES = 20
const WARM_UP_SLICES = 2
/** Of every five requests one is a stream. */
const STREAMED_SHARE = 0.2
const SECONDS_MAX = 120

/** Follows the memory of the gateway over many requests, streamed and not, after a warm-up. */
export async function measureMemory(settings: Settings, world: World): Promise<MemoryResult | null> {
  const { stack, runner } = world
  if (stack === undefined) return null
  const one = sluiceMeasured(stack, stack.proxy)
  const slice = (settings.quick ? QUICK_REQUESTS : REQUESTS) / SLICES
  const samples: MemoryResult['samples'] = []
  for (let i = -WARM_UP_SLICES; i < SLICES; i++) {
    let requests = 0
    let residentBytes = 0
    for (const [name, share] of [
      [STREAM_SHORT, STREAMED_SHARE],
      [SMALL, 1 - STREAMED_SHARE],
    ] as const) {
      const kind = caseNamed(name)
      const bounds = { requests: Math.round(slice * share), seconds: SECONDS_MAX }
      const options = { ...loadOptions(kind, one.target, true, modelOf(kind, one)), ...bounds }
      const sample = await runner.run(one, options)
      requests += sample.load.requests
      residentBytes = sample.residentBytes
    }
    if (i >= 0) samples.push({ requests: (samples.at(-1)?.requests ?? 0) + requests, residentBytes })
  }
  return { samples }
}
