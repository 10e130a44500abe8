import type { Logger } from 'pino'
import { PrivateServer } from '../../contract/net/privateServer.ts'
import { AttemptIds } from '../../contract/wire/attemptIds.ts'
import { newId } from '../../contract/wire/ids.ts'
import { connectRedis, type Redis } from '../../contract/wire/redis.ts'
import { Debits } from '../admission/debits/debit.ts'
import { debitKeeper } from '../admission/debits/debitKeeper.ts'
import { EventDispatcher } from '../admission/dispatcher.ts'
import { GrantSweeper } from '../admission/grantSweeper.ts'
import { HoldVoider } from '../admission/holdVoider.ts'
import { AdmissionKeeper, closeMarked, ensureAdmission } from '../admission/keeper.ts'
import { OrphanVoider } from '../admission/orphanVoider.ts'
import { answerKeeper } from '../api/answerKeeper.ts'
import { housekeeper } from '../api/housekeeper.ts'
import type { Product, RunningProduct } from '../api/product.ts'
import { BatchService } from '../batch/batchService.ts'
import { addMonthsAhead } from '../book/partitions/addMonths.ts'
import { monthKeeper } from '../book/partitions/monthKeeper.ts'
import { rollupKeeper } from '../book/rollups/rollupKeeper.ts'
import { SettlementConsumer } from '../book/settlement/consumer.ts'
import { statisticsKeeper } from '../book/statistics/statisticsKeeper.ts'
import { AttestationKeeper } from '../catalog/attestation/attestationKeeper.ts'
import { PriceObserver } from '../catalog/priceLists/priceObserver.ts'
import { CatalogKeeper } from '../catalog/pricing/catalogKeeper.ts'
import { signingWith } from '../catalog/signing/signCatalog.ts'
import { ObservedDays } from '../catalog/status/observedDays.ts'
import { statusKeeper } from '../catalog/status/statusKeeper.ts'
import type { ChainService } from '../chain/chainService.ts'
import { ChainState } from '../chain/chainState.ts'
import { keyAnnouncer } from '../identity/keys/keyAnnouncer.ts'
import type { Limits } from '../limits.ts'
import { ReceiptReader } from '../records/receipts/receiptReader.ts'
import { beforeDeadline } from '../runtime/beforeDeadline.ts'
import { RpcServer } from '../runtime/bus/rpcServer.ts'
import { migrate } from '../runtime/db/migrate.ts'
import { createLookupPool, createPool, type Pool, requireWrites } from '../runtime/db/pool.ts'
import { StatementTimes } from '../runtime/db/statementTimes.ts'
import { logEvent } from '../runtime/logEvents.ts'
import { newAccountApi } from './apiHandlers.ts'
import { addressForLog, type Environment } from './environment.ts'
import { gaugesOf } from './gauges.ts'
import { ControlMetrics } from './metrics.ts'
import { logMissingKeys } from './missingKeys.ts'
import { pingRedis, Readiness } from './readiness.ts'
import { recordKeepers } from './recordKeepers.ts'
import { requireRedisVersion } from './redisVersion.ts'
import { rpcHandlers } from './rpcHandlers.ts'
import { startChain } from './startChain.ts'
import { waitFor } from './waitFor.ts'
import { watchServers } from './watchServers.ts'

/** The whole of control: brought up in order, stopped together. */
export class ControlService {
  private readonly environment: Environment
  private readonly log: Logger
  private readonly pool: Pool
  private readonly lookups: Pool
  private readonly statements = new StatementTimes()
  private readonly redis: Redis
  private readonly catalog: CatalogKeeper
  private readonly observer: PriceObserver
  private readonly offered: readonly Product[]
  private chain: ChainService | undefined
  private products: readonly RunningProduct[] = []
  private metrics: ControlMetrics | undefined
  private readonly privateServer: PrivateServer
  private readonly readiness: Readiness
  private readonly debits: Debits
  private readonly voider: HoldVoider
  /** Undefined until admission first opens in this process; until then orphaned holds stay, and events wait. */
  private orphans: OrphanVoider | undefined
  private events: EventDispatcher | undefined
  /** The parts that `stop` has to end. */
  private readonly running: Array<{ name: string; stop: () => Promise<void> }> = []
  private readonly limits: Limits

  /** @param offered the products that are served and run */
  constructor(environment: Environment, offered: readonly Product[], log: Logger, limits: Limits) {
    this.offered = offered
    this.limits = limits
    this.environment = environment
    this.log = log
    const onLost = (error: Error): void => logEvent(log, 'postgres_connection_lost', { reason: error.message })
    this.pool = createPool(environment.databaseUrl, limits, onLost, this.statements)
    this.lookups = createLookupPool(environment.databaseUrl, limits, onLost, this.statements)
    this.redis = connectRedis(environment.redisUrl, 'wait')
    this.redis.on('error', (error: Error) => logEvent(log, 'redis_connection_failed', { reason: error.message }))
    this.readiness = new Readiness(this.pool, this.redis)
    this.privateServer = new PrivateServer({
      token: environment.metricsToken,
      metrics: async () => (await this.metrics?.write())?.text ?? '',
      hindrances: () => this.readiness.hindrances(),
    })
    this.debits = new Debits(this.pool, this.redis, limits)
    this.voider = new HoldVoider({ redis: this.redis, log, limits })
    const path = environment.catalogPath
    const sign = signingWith(environment.catalogKey, limits)
    this.catalog = new CatalogKeeper({ path, sign, pool: this.pool, redis: this.redis, log, limits })
    this.observer = new PriceObserver({ path, pool: this.pool, log, limits })
  }

  /**
   * Brings everything up.
   * @param signal ends the waiting for PostgreSQL and Redis
   * @returns the port of the metrics
   * @throws FileError for an invalid catalog; Error for everything else that prevents a start
   */
  async start(signal: AbortSignal): Promise<number> {
    const { databaseUrl, redisUrl, busKeys, metricsHost, metricsPort } = this.environment
    const { environment, pool, redis, log, voider, limits } = this
    const port = await this.privateServer.listen({ host: metricsHost, port: metricsPort })
    this.running.push({ name: 'metrics', stop: () => this.privateServer.close() })
    await waitFor(`PostgreSQL at ${addressForLog(databaseUrl)}`, log, signal, () => requireWrites(pool), limits)
    await waitFor(`Redis at ${addressForLog(redisUrl)}`, log, signal, () => pingRedis(this.redis), limits)
    await requireRedisVersion(this.redis)
    const applied = await migrate(this.pool)
    if (applied.length > 0) logEvent(this.log, 'schema_migrated', { applied })
    await closeMarked(this.pool, this.redis)
    await addMonthsAhead(this.pool, Date.now())
    await logMissingKeys(pool, environment, log)
    await this.catalog.start()
    this.running.push({ name: 'catalog', stop: () => this.catalog.stop() })
    const settlement = this.startSettlement()
    this.running.push(...recordKeepers({ environment, pool, redis, log, limits }))
    const attestation = new AttestationKeeper({ pool, redis, log, limits, environment: process.env })
    this.startChain()
    const batches = this.startBatches()
    const chainState = await this.startChainState()
    this.startProducts(chainState)
    const metrics = this.newMetrics(settlement, attestation, batches)
    this.metrics = metrics
    this.running.push({ name: 'process metrics', stop: async () => metrics.stop() })
    const observedDays = new ObservedDays({ pool: this.pool, log: this.log, limits: this.limits })
    this.running.push({ name: 'observed days', stop: () => observedDays.stop() })
    const { chain, products } = this
    const parts = { environment, pool, redis, products, receipts: new ReceiptReader(pool, redis, limits), limits }
    const api = newAccountApi({ ...parts, chain, log })
    const handlers = rpcHandlers({
      ...parts,
      api,
      voider,
      batches,
      chainState,
      observedDays,
      busKeys,
      lookups: this.lookups,
    })
    const rpc = new RpcServer({ redisUrl, busKeys, handlers, log, observe: metrics.observeRpc, limits })
    rpc.start()
    this.running.push({ name: 'rpc', stop: () => rpc.stop(this.limits.shutdownTimeoutMs / 2) })
    // Proxies that served on their leases meanwhile ask how far they are booked before the state is loaded.
    await this.openAdmission(signal)
    const jobs = { pool, log, limits }
    for (const job of [
      ...products.flatMap(({ start }) => start?.() ?? []),
      answerKeeper({ ...jobs, api, redis }),
      housekeeper(jobs),
      monthKeeper(jobs),
      statisticsKeeper(jobs),
      rollupKeeper(jobs),
      statusKeeper({ ...jobs, redis }),
    ]) {
      this.running.push({ name: job.name, stop: async () => void (await job.stop()) })
    }
    attestation.start()
    this.running.push({ name: 'attestation', stop: () => attestation.stop() })
    this.observer.start()
    this.running.push({ name: 'price lists', stop: () => this.observer.stop() })
    this.readiness.isStarted = true
    return port
  }

  /** Reads the catalog file again; an invalid file is logged, and the current catalog stays in force. */
  reloadCatalog(): Promise<boolean> {
    return this.catalog.reload()
  }

  /**
   * Stops everything. Running work may take half of limits.shutdownTimeoutMs to drain; work that is not finished then (because
   * PostgreSQL or Redis is down, say) is left for the next start, which finds it in the streams.
   */
  async stop(): Promise<void> {
    const parts = this.running.splice(0).map(async ({ name, stop }) => {
      await stop().catch((error: Error) => logEvent(this.log, 'part_stop_failed', { part: name, err: error }))
    })
    const ends = Promise.all(parts)
      .then(() => Promise.all([this.pool.end(), this.lookups.end()]))
      .then(() => true)
    const isClean = await beforeDeadline(ends, this.limits.shutdownTimeoutMs / 2, () => false)
    if (!isClean) logEvent(this.log, 'shutdown_incomplete')
    this.redis.disconnect()
  }

  private startSettlement(): SettlementConsumer {
    const settlement = new SettlementConsumer({
      redisUrl: this.environment.redisUrl,
      pool: this.pool,
      log: this.log,
      consumer: newId('own'),
      onBooked: () => {
        for (const { onBooked } of this.products) onBooked?.()
      },
      limits: this.limits,
    })
    this.running.push({ name: 'settlement', stop: () => settlement.stop() })
    return settlement
  }

  private startChain(): void {
    const { pool, redis, log, limits } = this
    const { payments: config } = this.environment
    if (config === undefined) return
    const chain = startChain(this.offered, { config, pool, redis, log, limits })
    this.chain = chain
    this.running.push({ name: 'chain', stop: () => chain.stop(limits.shutdownTimeoutMs / 4) })
  }

  private startProducts(chainState: ChainState): void {
    const { environment, pool, redis, log, debits, chain, limits } = this
    const applyToAdmission = async (accountIds: readonly string[]) => (await this.events?.applyNow(accountIds)) ?? false
    const parts = { environment, pool, redis, log, debits, applyToAdmission, chain, chainState, limits }
    this.products = this.offered.map((product) => product.make(parts))
    const stops = this.products.flatMap(({ stop }) => stop ?? [])
    this.running.push({ name: 'products', stop: async () => void (await Promise.all(stops.map((stop) => stop()))) })
  }

  private newMetrics(
    settlement: SettlementConsumer,
    attestation: AttestationKeeper,
    { contradictions }: BatchService,
  ): ControlMetrics {
    const { pool, redis, environment, products, log, limits } = this
    const seen = watchServers({ pool, redis, log, limits, hasExport: environment.export !== undefined })
    this.running.push({ name: 'server watches', stop: () => seen.stop() })
    const ofProducts = products.flatMap(({ totals }) => totals ?? [])
    return new ControlMetrics({
      settlement: () => settlement.tally.stats,
      orphansVoided: () => this.voider.voided,
      takenBackUnits: () => this.orphans?.takenBackUnits ?? 0,
      priceLists: () => this.observer.stats,
      shards: () => settlement.leases.shards.length,
      statements: this.statements.seconds,
      readsMs: limits.scrapeReadsMs,
      gauges: [
        ...seen.gauges,
        ...gaugesOf(pool, redis, environment),
        ...products.flatMap(({ gauges }) => gauges ?? []),
      ],
      totals: [this.statements.total, ...seen.totals, attestation.rejected.total, contradictions.total, ...ofProducts],
      labelledGauges: [settlement.tally.spenders.gauge],
    })
  }

  /** Reads the state of the chain before the first call is answered, so that no answer reports an unknown state. */
  private async startChainState(): Promise<ChainState> {
    const { payments, chainRpcUrl } = this.environment
    const { pool, log, limits, chain: service } = this
    const chain = new ChainState({ rpcUrl: payments?.rpcUrl ?? chainRpcUrl, payments, service, pool, log, limits })
    this.running.push({ name: 'chain state', stop: () => chain.stop() })
    await chain.known
    return chain
  }

  private startBatches(): BatchService {
    const { pool, redis, log, limits } = this
    const { busKeys, allowPrivateWebhooks: allowPrivate = false } = this.environment
    const parts = { pool, redis, log, limits, environment: process.env, allowPrivate }
    const batches = new BatchService({ ...parts, attemptIds: new AttemptIds(busKeys) })
    batches.start()
    this.running.push({ name: 'batches', stop: () => batches.stop() })
    return batches
  }

  /** Admission opens only over a state that is known to match the book. */
  private async openAdmission(signal: AbortSignal): Promise<void> {
    const { pool, redis, log, limits } = this
    const options = { pool, redis, log, beforeOpen: () => this.catalog.restore(), limits }
    const load = async (): Promise<void> => {
      if ((await ensureAdmission(options)) === 'busy') throw new Error('another control is loading it')
    }
    await waitFor('the admission state', log, signal, load, limits)
    this.orphans = new OrphanVoider({ ...options, voider: this.voider })
    this.events = new EventDispatcher(options)
    const debits = debitKeeper({ ...options, debits: this.debits })
    const announcer = keyAnnouncer(options)
    const keepers = [new AdmissionKeeper(options), new GrantSweeper(options), debits, announcer]
    const loops = [this.orphans, this.events, ...keepers]
    this.running.push({
      name: 'admission',
      stop: async () => void (await Promise.all(loops.map((loop) => loop.stop()))),
    })
  }
}
