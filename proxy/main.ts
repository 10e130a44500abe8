import { pino } from 'pino'
import { unknownVariables } from '../contract/schemas/environment.ts'
import { newId } from '../contract/wire/ids.ts'
import { connectRedis } from '../contract/wire/redis.ts'
import { provideJournalFolders } from './admission/journal/journalFolders.ts'
import { RpcClient } from './bus/rpcClient.ts'
import { readConfig } from './config.ts'
import { readLimits } from './limits.ts'
import { logEvent } from './logEvents.ts'
import { JournalReplays } from './supervisor/journalReplays.ts'
import { MetricsServer } from './supervisor/metricsServer.ts'
import { WorkerProcesses } from './supervisor/workerProcesses.ts'

const config = readConfig(process.env)
const limits = readLimits(process.env['SLUICE_LIMITS'])
const log = pino({ level: config.logLevel, base: { process: 'proxy-main' } })
for (const problem of unknownVariables(process.env)) logEvent(log, 'configuration_variable_unknown', { problem })
const workers = new WorkerProcesses(config, limits, log, () => replays.lookNow())
const redis = connectRedis(config.redisUrl, 'wait')
const subscriber = connectRedis(config.redisUrl, 'wait')
for (const connection of [redis, subscriber]) {
  connection.on('error', (error) => logEvent(log, 'supervisor_redis_connection_failed', { err: error }))
}
const rpc = new RpcClient({ commands: redis, subscriber, owner: newId('own'), busKeys: config.busKeys, limits })
const replays = new JournalReplays({ config, redis, rpc, limits, log, living: () => workers.owners })
const metrics = new MetricsServer(workers)
let stopping = false

async function stop(noticeMs: number): Promise<void> {
  if (stopping) return
  stopping = true
  await workers.stop(noticeMs)
  await replays.finish(limits.settleTimeoutMs)
  await metrics.close()
  process.exit(0)
}

async function start(): Promise<void> {
  await provideJournalFolders(config)
  rpc.start().then(
    () => replays.start(),
    (error: unknown) => logEvent(log, 'journal_replay_disabled', { err: error }),
  )
  const metricsPort = await metrics.listen(config.metricsPort)
  const port = await workers.start()
  logEvent(log, 'proxy_ready', { port, metricsPort, workers: config.workers })
  process.send?.({ ready: { port, metricsPort } })
}

process.on('SIGTERM', () => void stop(limits.leaveNoticeMs))
// A user at the terminal does not wait for load balancers.
process.on('SIGINT', () => void stop(0))
process.on('disconnect', () => void stop(0))

start().catch((error: unknown) => {
  logEvent(log, 'startup_failed', { err: error })
  process.exit(1)
})
