import { pino } from 'pino'
import { unknownVariables } from '../contract/schemas/environment.ts'
import { newId } from '../contract/wire/ids.ts'
import { connectRedis } from '../contract/wire/redis.ts'
import { RpcClient } from './bus/rpcClient.ts'
import { readConfig } from './config.ts'
import { readLimits } from './limits.ts'
import { JournalReplays } from './supervisor/journalReplays.ts'
import { MetricsServer } from './supervisor/metricsServer.ts'
import { WorkerProcesses } from './supervisor/workerProcesses.ts'

const config = readConfig(process.env)
const limits = readLimits(process.env['SLUICE_LIMITS'])
const log = pino({ level: config.logLevel, base: { process: 'proxy-main' } })
for (const sentence of unknownVariables(process.env)) log.warn(sentence)
const workers = new WorkerProcesses(config, limits, log, () => replays.lookNow())
const redis = connectRedis(config.redisUrl, 'wait')
const subscriber = connectRedis(config.redisUrl, 'wait')
for (const connection of [redis, subscriber]) {
  connection.on('error', (error) => log.debug({ err: error }, 'redis connection'))
}
const rpc = new RpcClient({ commands: redis, subscriber, owner: newId('own'), busKey: config.busKey, limits })
const replays = new JournalReplays({ config, redis, rpc, limits, log, living: () => workers.owners })
const metrics = new MetricsServer(workers)
let stopping = false

async function stop(): Promise<void> {
  if (stopping) return
  stopping = true
  await workers.stop()
  await replays.finish(limits.settleTimeoutMs)
  await metrics.close()
  process.exit(0)
}

async function start(): Promise<void> {
  rpc.start().then(
    () => replays.start(),
    (error: unknown) => log.error({ err: error }, 'journals of earlier processes are not delivered'),
  )
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
