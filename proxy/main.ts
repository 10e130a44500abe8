import { pino } from 'pino'
import { unknownVariables } from '../contract/schemas/environment.ts'
import { readConfig } from './config.ts'
import { readLimits } from './limits.ts'
import { MetricsServer } from './supervisor/metricsServer.ts'
import { WorkerProcesses } from './supervisor/workerProcesses.ts'

const config = readConfig(process.env)
const limits = readLimits(process.env['SLUICE_LIMITS'])
const log = pino({ level: config.logLevel, base: { process: 'proxy-main' } })
for (const sentence of unknownVariables(process.env)) log.warn(sentence)
const workers = new WorkerProcesses(config, limits, log)
const metrics = new MetricsServer(workers)
let stopping = false

async function stop(): Promise<void> {
  if (stopping) return
  stopping = true
  await workers.stop()
  await metrics.close()
  process.exit(0)
}

async function start(): Promise<void> {
  const metricsPort = await metrics.listen(config.metricsPort)
  const port = await workers.start()
  log.info({ port, metricsPort, workers: config.workers }, 'proxy is up')
  process.send?.({ ready: { port, metricsPort } })
}

process.on('SIGTERM', () => void stop())
process.on('SIGINT', () => void stop())
process.on('disconnect', () => void stop())

start().catch((error: unknown) => {
  log.fatal({ err: error }, 'cannot start')
  process.exit(1)
})
