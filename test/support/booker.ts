// Books what waits in the ledger streams and counts it, as control does, until it is killed: node booker.js DATABASE_URL REDIS_URL NAME
import { pino } from 'pino'
import { SettlementConsumer } from '../../control/book/settlement/consumer.ts'
import { statisticsKeeper } from '../../control/book/statistics/statisticsKeeper.ts'
import { createPool } from '../../control/runtime/db/pool.ts'
import { limitsWith } from './limits.ts'

const [databaseUrl = '', redisUrl = '', consumer = ''] = process.argv.slice(2)
// Small batches and short leases, so that a kill finds something under way.
const limits = limitsWith({
  settlementBatchMax: 60,
  settlementReadMax: 60,
  settlementDivideMin: 40,
  settlementBlockMs: 50,
  settlementGatherMs: 5,
  settlementRetryMs: 50,
  settlementClaimIdleMs: 300,
  bookerBeatMs: 60,
  bookerLeaseMs: 400,
  statisticsMs: 20,
  statisticsBatchesMax: 3,
})
const log = pino({ level: process.env['TEST_LOG_LEVEL'] ?? 'silent' })
const pool = createPool(databaseUrl, limits)
const settlement = new SettlementConsumer({ redisUrl, pool, log, consumer, limits })
const counting = statisticsKeeper({ pool, log, limits })
process.on('SIGTERM', () => void Promise.all([settlement.stop(), counting.stop()]).then(() => process.exit(0)))
process.on('disconnect', () => process.exit(1))
