import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { pino } from 'pino'
import { worstState } from '../contract/api/incidents.ts'
import { newSignal } from '../contract/std/signal.ts'
import { ClockDifference } from '../contract/wire/clockDifference.ts'
import { newId } from '../contract/wire/ids.ts'
import { clusterOf, connectRedis } from '../contract/wire/redis.ts'
import { defineScript } from '../contract/wire/scripts.ts'
import { WorkerPool } from '../workers/pool.ts'
import { KeyCache } from './access/keyCache.ts'
import { Heartbeat } from './admission/heartbeat.ts'
import { Holds } from './admission/holds.ts'
import { KnownServers } from './admission/knownServers.ts'
import { OwnLeases } from './admission/leases/ownLeases.ts'
import { StrayHolds } from './admission/strayHolds.ts'
import { UnmeteredHolds, UnmeteredSettlements } from './admission/unmetered.ts'
import { feedListener } from './bus/feedListener.ts'
import { FeedReader } from './bus/feedReader.ts'
import { type BookedPosition, Pulse } from './bus/pulse.ts'
import { RpcClient } from './bus/rpcClient.ts'
import { untilDone } from './bus/untilDone.ts'
import { CatalogStore } from './catalog/catalogStore.ts'
import { noteCatalog } from './catalog/noteCatalog.ts'
import { readConfig } from './config.ts'
import { BatchJobs } from './endpoints/batches/batchJobs.ts'
import { KeptAnswers } from './endpoints/keptAnswers.ts'
import { LargeBodies } from './endpoints/largeBodies/largeBodies.ts'
import { ActiveRuns } from './endpoints/run/activeRuns.ts'
import { AgentGate } from './endpoints/run/agentGate.ts'
import type { RunServices } from './endpoints/run/services.ts'
import { IncidentStore } from './endpoints/status/incidentStore.ts'
import { SeenState } from './endpoints/status/seenState.ts'
import { componentsNow } from './endpoints/status/status.ts'
import { TokenCounter } from './endpoints/tokens/tokenCounter.ts'
import { VideoJobs } from './endpoints/videos/jobs.ts'
import { VideoStore } from './endpoints/videos/videoStore.ts'
import { VideoWakes } from './endpoints/videos/videoWakes.ts'
import { readLimits } from './limits.ts'
import { faultLog, logEvent } from './logEvents.ts'
import { logOutages } from './metrics/redisOutages.ts'
import { RefusalLog } from './metrics/refusalLog.ts'
import { RequestMetrics } from './metrics/requestMetrics.ts'
import { vitalsOf } from './metrics/vitals.ts'
import type { PaymentServices } from './payments/paidRequest.ts'
import { TermsCache } from './payments/termsCache.ts'
import { PaymentVerifier } from './payments/verifier.ts'
import { providerFaults } from './providerFaults.ts'
import { routes } from './routes.ts'
import { Server } from './server/server.ts'
import { OutBuffer } from './sse/outBuffer.ts'
import { LOOP_RESOLUTION_MS, snapshotOf } from './supervisor/snapshot.ts'
import { obeyMain, tell } from './supervisor/workerChannel.ts'
import type { WorkerSnapshot } from './supervisor/workerMessages.ts'
import { answerMemories } from './upstream/answerMemory.ts'
import { CanaryWatch } from './upstream/canaryWatch.ts'
import { newTransport } from './upstream/newTransport.ts'
import { RouteProbes } from './upstream/probes/routeProbes.ts'
import { RouteHealth } from './upstream/routeHealth.ts'
import { RouteViews } from './upstream/routeViews.ts'

const config = readConfig(process.env)
const limits = readLimits(process.env['SLUICE_LIMITS'])
const owner = newId('own')
const log = pino({ level: config.logLevel, base: { process: 'proxy', owner } })
const fault = faultLog(log)

const commands = connectRedis(config.redisUrl, { failAfterMs: limits.redisTimeoutMs })
const subscriber = connectRedis(config.redisUrl, 'wait')
const feedRedis = connectRedis(config.redisUrl, 'wait')
logOutages({ commands, subscriber, feed: feedRedis }, log, limits)

const servers = new KnownServers(commands, limits, fault('redis_identity_unknown'))
const metrics = new RequestMetrics()
const refusals = new RefusalLog(log, limits)
const health = new RouteHealth(limits)
const canaries = new CanaryWatch()
const transport = await newTransport(config.transport, config.busKeys, limits)
const rpc = new RpcClient({ commands, subscriber, owner, busKeys: config.busKeys, limits })
const seen = new SeenState({
  partsNow: () => {
    if (pulse.admissionClosed) return 'major_outage'
    return worstState(componentsNow({ catalog, health, vitals }, [], Date.now()).map(({ status }) => status))
  },
  counters: metrics.counters,
  limits,
})
const begun = () => leases.begun
const pulse = new Pulse({ rpc, intervalMs: limits.pulseIntervalMs, seen, canaries, owner, begun, onBooked: noteBooked })
const keys = new KeyCache(rpc, limits)
const catalog = new CatalogStore({
  redis: commands,
  busKeys: config.busKeys,
  environment: process.env,
  onChange: (changed) => noteCatalog(changed, health, log),
  onFault: fault('catalog_read_failed'),
})
const incidents = new IncidentStore(commands, fault('incidents_read_failed'))
const schedule = (work: () => void) => void setImmediate(work)
const connected = () => commands.status === 'ready'
const canTake = () => connected() && servers.areKnown
const holds = new Holds({
  script: defineScript(commands, 'hold'),
  schedule,
  owner,
  limits,
  perShard: clusterOf(commands) !== undefined,
  connected: canTake,
  onFault: fault('hold_failed'),
})
const strays = new StrayHolds({
  script: defineScript(commands, 'settle'),
  limits,
  perShard: clusterOf(commands) !== undefined,
  connected,
  onFault: fault('hold_void_failed'),
})
const own = new OwnLeases({
  config,
  owner,
  commands,
  subscriber,
  rpc,
  limits,
  connected: canTake,
  serverChanges: () => servers.changes,
  strays,
  onFault: fault('lease_failed'),
  onJournalFault: fault('journal_write_failed'),
})
const { leases } = own
const beat = defineScript(commands, 'heartbeat')
const clock = new ClockDifference(limits.clockDifferenceMaxMs, (differs, differenceMs) =>
  logEvent(log, differs ? 'clock_differs' : 'clock_agrees', { differenceMs: Math.round(differenceMs) }),
)
const heartbeat = new Heartbeat(beat, commands, owner, limits.heartbeatIntervalMs, (sentAtMs, redisMs) => {
  leases.heard(sentAtMs, redisMs)
  clock.note(performance.now() - sentAtMs, redisMs)
})
const feed = new FeedReader(feedRedis, feedListener({ keys, catalog, incidents }), fault('feed_read_failed'))
const routeViews = new RouteViews({ commands, owner, health, clock, limits, onFault: fault('route_views_failed') })
const probes = new RouteProbes({ catalog: () => catalog.current, health, limits })
const services: RunServices = {
  holds: config.unmetered ? new UnmeteredHolds(fault('hold_failed')) : leases,
  lastingHolds: holds,
  singly: (source) => (config.unmetered ? source : leases.singly(source)),
  settlements: config.unmetered ? new UnmeteredSettlements(fault('settlement_failed')) : leases,
  transport,
  health,
  canaries,
  limits,
  owner,
  publicUrl: config.publicUrl,
  metrics,
  outgoing: new OutBuffer(),
  ...answerMemories(limits),
  active: new ActiveRuns(),
  agents: new AgentGate(rpc, fault('agent_approval_return_failed')),
  tokens: new TokenCounter(limits, fault('thread_failed')),
  large: new LargeBodies(limits, fault('thread_failed')),
  onCrash: (error, requestId) => logEvent(log, 'request_crashed', { err: error, requestId }),
  ...providerFaults(metrics, log),
}
const workers = new WorkerPool({
  threadsMax: limits.verifyThreadsMax,
  idleTimeoutMs: limits.verifyThreadIdleMs,
  queueMax: limits.verifyPendingMax,
  taskTimeoutMs: limits.verifyTimeoutMs,
  onFault: fault('thread_failed'),
})
const payments: PaymentServices = {
  rpc,
  catalog,
  limits,
  owner,
  publicUrl: config.publicUrl,
  trustedProxies: config.trustedProxies,
  terms: new TermsCache(rpc, () => pulse.payments !== 'unavailable', limits),
  verifier: new PaymentVerifier(workers, limits),
  onFault: fault('payment_failed'),
}
const videoWakes = new VideoWakes({ commands, subscriber, owner, onFault: fault('video_wake_failed') })
const videos = new VideoJobs(new VideoStore(commands, limits), videoWakes, limits)
const batches = new BatchJobs({ rpc, commands, owner, limits })
let draining = false
const mayLeave = newSignal()
const vitals = () => vitalsOf({ redis: connected(), journal: own.journal.accepts, draining }, pulse)

const server = new Server({
  routes: routes({
    keys,
    catalog,
    services,
    videos,
    batches,
    health,
    routeViews,
    rpc,
    kept: new KeptAnswers({ redis: commands, controlAlive: () => pulse.alive, limits }),
    limits,
    vitals,
    incidents,
    payments,
    trustedProxies: config.trustedProxies,
    site: { publicUrl: config.publicUrl, listenHost: config.host },
  }),
  limits,
  onError: (error, requestId) => logEvent(log, 'request_handler_failed', { err: error, requestId }),
  onRefusal: (error) => metrics.noteError(error.row),
  onFailed: (error, requestId) => refusals.note(error.row, requestId),
})
const loopDelay = monitorEventLoopDelay({ resolution: LOOP_RESOLUTION_MS })

function noteBooked(positions: readonly BookedPosition[]): void {
  leases.noteBooked(new Map(positions.map(({ shard, seq }) => [shard, seq])))
}

async function start(): Promise<void> {
  loopDelay.enable()
  await untilDone(log, 'Redis to answer', () => heartbeat.start().then(() => true))
  await untilDone(log, 'Redis to take holds', async () => connected())
  await rpc.start()
  await own.start()
  await videos.start()
  await feed.start()
  await untilDone(log, 'control to publish a catalog', () => catalog.refresh())
  // Events that were published while this connection was down may be lost.
  commands.on('ready', () => {
    catalog.renew()
    incidents.renew()
  })
  incidents.renew()
  pulse.start()
  routeViews.start()
  probes.start()
  const port = await server.listen(config.host, config.port)
  if (config.unmetered) logEvent(log, 'metering_disabled')
  logEvent(log, 'worker_listening', { host: config.host, port })
  tell({ ready: { port, owner } })
}

async function stop(noticeMs: number): Promise<void> {
  if (draining) return
  draining = true
  server.leave()
  await sleep(noticeMs)
  logEvent(log, 'worker_draining', { open: server.open })
  server.drain()
  await Promise.race([whenDone(), sleep(limits.drainGraceMs)])
  services.active.cutAll()
  await Promise.race([whenDone(), sleep(limits.shutdownTimeoutMs)])
  tell({ drained: true })
  // Leaving first would break connections of clients that are still sent here while the other workers run.
  if (process.connected) await Promise.race([mayLeave.promise, sleep(limits.drainGraceMs + limits.shutdownTimeoutMs)])
  server.close()
  const isDelivered = await own.stop(limits.settleTimeoutMs)
  const isAllVoided = strays.size === 0
  strays.stop()
  probes.stop()
  pulse.stop()
  await routeViews.stop().catch(fault('route_views_failed'))
  if (isAllVoided && isDelivered) await heartbeat.stop().catch(fault('sign_off_failed'))
  refusals.stop()
  logEvent(log, 'worker_stopped')
  process.exit(0)
}

// The server does not count answers whose clients have disconnected, but these may still need a settlement.
async function whenDone(): Promise<void> {
  await server.whenIdle()
  while (services.active.size > 0) await sleep(10)
}

function snapshot(): WorkerSnapshot {
  return snapshotOf({
    metrics,
    server,
    active: services.active,
    strays,
    leases,
    journal: own.journal,
    loopDelay,
    clock,
    vitals,
  })
}

obeyMain({
  stop: (noticeMs) => void stop(noticeMs),
  leave: mayLeave.resolve,
  snapshot,
  leaveNoticeMs: limits.leaveNoticeMs,
})

start().catch((error: unknown) => {
  logEvent(log, 'startup_failed', { err: error })
  process.exit(1)
})
