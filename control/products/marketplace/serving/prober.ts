import type { Logger } from 'pino'
import { tryLock } from '../../../runtime/db/locks.ts'
import { Loop } from '../../../runtime/loop.ts'
import { openAdmissions, trafficPpm } from './admission.ts'
import { type ProbeParts, probe } from './probe.ts'
import { probedModel } from './probeModel.ts'
import { servedEndpoints } from './servedEndpoints.ts'

export interface ProberParts extends ProbeParts {
  readonly log: Logger
  /** Where the keys of the catalog's providers are. */
  readonly environment: NodeJS.ProcessEnv
}

/** Compares answers of every registered provider that serves now and then, one after the other, in one control at a time. */
export function prober(parts: ProberParts): Loop {
  const { pool, limits, log } = parts
  return new Loop('comparisons of providers', limits.providerProbeMs, log, async (signal) => {
    await tryLock(pool, 'providerProbes', () => probeAll(parts, signal))
  })
}

async function probeAll(parts: ProberParts, signal: AbortSignal): Promise<void> {
  const { pool, environment } = parts
  const admissions = (await openAdmissions(pool)).filter((admission) => trafficPpm(admission) > 0)
  const endpoints = await servedEndpoints(pool, admissions)
  for (const admission of admissions) {
    if (signal.aborted) return
    const endpoint = endpoints.get(admission.providerId)
    const model = endpoint && (await probedModel(pool, admission.model, environment))
    if (!endpoint || !model) continue
    await probe(parts, admission, endpoint, model)
  }
}
