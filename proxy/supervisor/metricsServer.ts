import { PrivateServer } from '../../contract/net/privateServer.ts'
import type { SeriesBound } from '../metrics/modelMetrics.ts'
import { hindrances } from '../metrics/vitals.ts'
import { renderMetrics } from './renderMetrics.ts'
import type { WorkerProcesses } from './workerProcesses.ts'

/**
 * The private port of a proxy. It belongs to the supervisor, so that it answers even while a worker is busy.
 * @param token see PrivateServerParts
 */
export function metricsServer(workers: WorkerProcesses, token: string, bound: SeriesBound): PrivateServer {
  return new PrivateServer({
    token,
    metrics: async () => renderMetrics(await workers.snapshots(), workers, bound).text,
    hindrances: async () => {
      const reasons = (await workers.snapshots()).map(({ vitals }) => hindrances(vitals))
      if (reasons.length === 0) return ['no worker answers']
      // One worker that can serve is enough.
      return reasons.some(({ length }) => length === 0) ? [] : [...new Set(reasons.flat())]
    },
  })
}
