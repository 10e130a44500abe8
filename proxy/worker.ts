import '../contract/std/mendedJson.ts'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { worstState } from '../contract/api/incidents.ts'
import { newLog } from '../contract/std/newLog.ts'
import { newSignal } from '../contract/std/signal.ts'
import { ClockDifference } from '../contract/wire/clockDifference.ts'
import { newId } from '../contract/wire/ids.ts'
import { connectRedis } from '../contract/wire/redis.ts'
import { defineScript } from '../contract/wire/scripts.ts'
import { KeptKeyRecords } from './access/keptKeyRecords.ts'
import { KeyCache } from './access/keyCache.ts'
import { KeyRecords } from './access/keyRecords.ts'
import { accessLogOf } from './accessLogs.ts'
import { Heartbeat } from './admission/heartbeat.ts'
import { KnownServers } from './admission/knownServers.ts'
import { OwnLeases } from './admission/leases/ownLeases.ts'
import { UnmeteredHolds, UnmeteredSettlements } from './admission/unmetered.ts'
import { feedListener } from './bus/feedListener.ts'
import { FeedReader } from './bus/feedReader.ts'
import { type BookedPosition, Pulse } from './bus/pulse.ts'
import { RpcClient } from './bus/rpcClient.ts'
import { untilDone } from './bus/untilDone.ts'
import { catalogParts } from './catalogParts.ts'
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
import { holdParts } from './holdParts.ts'
import { readLimits } from './limits.ts'
import { faultLog, logEvent } from './logEvents.ts'
import { keyTokens } from './metrics/keyTokens.ts'
import { logOutages } from './metrics/redisOutages.ts'
import { RequestMetrics } from './metrics/requestMetrics.ts'
import { SlowProviders } from './metrics/slowProviders.ts'
import { vitalsOf } from './metrics/vitals.ts'
import { paymentParts } from './paymentParts.ts'
import { providerFaults } from './providerFaults.ts'
import { newQuotas } from './quotas/quotas.ts'
import { Refusals } from './refusals/refusals.ts'
import { routes } from './routes.ts'
import { Server } from './server/server.ts'
import { OutBuffer } from './sse/outBuffer.ts'
import { LOOP_RESOLUTION_MS, snapshotOf } from './supervisor/snapshot.ts'
import { obeyMain, tell } from './supervisor/workerChannel.ts'
import type { WorkerSnapshot } from './supervisor/workerMessages.ts'
import { newTracer } from './traces/newTracer.ts'
import { answerMemories } from './upstream/answerMemory.ts'
import { CanaryWatch } from './upstream/canaryWatch.ts'
import { newTransport } from './upstream/newTransport.ts'
import { RouteProbes } from './upstream/probes/routeProbes.ts'
import { RouteViews } from './upstream/routeViews.ts'

const config = readConfig(process.env)
const limits = readLimits(process.env['SLUICE_LIMITS'])
const owner = newId('own')
const log = newLog({ level: config.logLevel, base: { process: 'proxy', owner } })
const fault = faultLog(log)

const commands = connectRedis(config.redisUrl, { failAfterMs: limits.redisTimeoutMs })
const subscriber = connectRedis(config.redisUrl, 'wait')
const feedRedis = connectRedis(config.redisUrl, 'wait')
logOutages({ commands, subscriber, feed: feedRedis }, log, limits)

const servers = new KnownServers(commands, limits, fault('redis_identity_unknown'))
const access = accessLogOf(config, log, limits)
const traces = newTracer(config, { limits, log, instance: owner, metrics: () => metrics })
const metrics = new RequestMetrics(limits, access, traces)
const slowProviders = new SlowProviders(metrics.models.counts, log, limits)
const { busKeys } = config
const { catalog, health, secrets, keysOut } = catalogParts({ redis: commands, busKeys, limits, metrics, log })
const canaries = new CanaryWatch()
const transport = await newTransport(config.transport, busKeys, limits)
const rpc = new RpcClient({ commands, subscriber, owner, busKeys, limits })
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
const incidents = new IncidentStore(commands, fault('incidents_read_failed'))
const schedule = (work: () => void) => void setImmediate(work)
const connected = () => commands.status === 'ready'
const canTake = () => connected() && servers.areKnown
const serverChanges = () => servers.changes
const kept = new KeptKeyRecords({ redis: commands, busKeys, owner, limits, usable: canTake, serverChanges })
const { holds, strays } = holdParts({ commands, owner, limits, fault, connected, canTake })
const own = new OwnLeases({
  config,
  owner,
  commands,
  subscriber,
  rpc,
  limits,
  connected: canTake,
  serverChanges,
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
const records = new KeyRecords({ rpc, kept, schedule, limits, counts: metrics.counters.keyRecords })
const keys = new KeyCache(records, () => feed.isFollowed, limits, leases)
const refusalParts = { redis: commands, keys, log, metrics, traces, limits }
const refusals = new Refusals({ ...refusalParts, onFault: fault('refusal_records_failed') })
const feed = new FeedReader(feedRedis, feedListener({ keys, kept, catalog, incidents }), fault('feed_read_failed'))
const tokensOfKeys = () => keyTokens(metrics.models.counts)
const seenRoutes = { commands, owner, health, keysOut, keyTokens: tokensOfKeys, clock, limits }
const routeViews = new RouteViews({ ...seenRoutes, onFault: fault('route_views_failed') })
const probes = new RouteProbes({ catalog: () => catalog.current, health, limits })
const quotas = newQuotas(commands, owner, limits, fault('quota_failed'))
const services: RunServices = {
  permits: quotas,
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
  traces,
  outgoing: new OutBuffer(),
  ...answerMemories(limits),
  active: new ActiveRuns(),
  agents: new AgentGate(rpc, fault('agent_approval_return_failed')),
  tokens: new TokenCounter(limits, fault('thread_failed')),
  large: new LargeBodies(limits, fault('thread_failed')),
  onCrash: (error, requestId) => logEvent(log, 'request_crashed', { err: error, requestId }),
  ...providerFaults(metrics, log),
}
const { payments, verifying } = paymentParts({ config, rpc, catalog, pulse, owner, limits, fault })
const videoWakes = new VideoWakes({ commands, subscriber, owner, onFault: fault('video_wake_failed') })
const videos = new VideoJobs(new VideoStore(commands, limits), videoWakes, limits)
const batches = new BatchJobs({ rpc, commands, owner, limits })
let draining = false
const mayLeave = newSignal()
const vitals = () =>
  vitalsOf({ redis: connected() && heartbeat.isTaken, journal: own.journal.accepts, draining }, pulse)

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
  onFailed: refusals.note,
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
  for (const change of ['close', 'ready']) commands.on(change, () => seen.observe())
  pulse.start()
  secrets.start(() => catalog.renewKeys())
  routeViews.start()
  quotas.start()
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
  await Promise.race([whenDone(), atMost(limits.drainGraceMs)])
  services.active.cutAll()
  await Promise.race([whenDone(), atMost(limits.shutdownTimeoutMs)])
  tell({ drained: true })
  // Leaving first would break connections of clients that are still sent here while the other workers run.
  if (process.connected) await Promise.race([mayLeave.promise, atMost(limits.drainGraceMs + limits.shutdownTimeoutMs)])
  server.close()
  const isDelivered = await own.stop(limits.settleTimeoutMs)
  const isAllVoided = strays.size === 0
  strays.stop()
  await quotas.stop(limits.quotaStopMs)
  probes.stop()
  slowProviders.stop()
  secrets.stop()
  pulse.stop()
  await routeViews.stop().catch(fault('route_views_failed'))
  if (isAllVoided && isDelivered) await heartbeat.stop().catch(fault('sign_off_failed'))
  await Promise.all([refusals.stop(), access?.stop(), traces?.stop()])
  logEvent(log, 'worker_stopped')
  process.exit(0)
}

/** Closes the rest, which otherwise ends with the process: tests run more than one worker in a process. */
export async function release(): Promise<void> {
  server.end()
  loopDelay.disable()
  rpc.stop()
  catalog.stop()
  incidents.stop()
  await feed.stop()
  for (const connection of [commands, subscriber]) connection.disconnect()
  await Promise.all([transport, services.tokens, services.large, verifying].map((one) => one.close()))
}

function atMost(ms: number): Promise<void> {
  return sleep(ms, undefined, { ref: false })
}

// The server does not count answers whose clients have disconnected, but these may still need a settlement.
async function whenDone(): Promise<void> {
  await server.whenIdle()
  while (services.active.size > 0) await sleep(10)
}

function snapshot(): WorkerSnapshot {
  return snapshotOf({
    metrics,
    keysOut,
    health,
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
  reopen: () => access?.reopen(),
  leaveNoticeMs: limits.leaveNoticeMs,
})

start().catch((error: unknown) => {
  logEvent(log, 'startup_failed', { err: error })
  process.exit(1)
})
