import assert from 'node:assert/strict'
import test from 'node:test'
import { pino } from 'pino'
import { epochKey } from '../../../contract/wire/redisKeys.ts'
import { AdmissionKeeper, ensureAdmission } from '../../../control/admission/keeper.ts'
import { ledgerLimits as limits } from '../../support/limits.ts'
import { startBook, until } from '../../support/parts/ledger.ts'

test('a restart of all parts logs no warning; a Redis restart while control runs, or lost state, does', async (t) => {
  const own = await startBook()
  t.after(() => own.stop())
  const lines: Array<{ level: number; reason?: string }> = []
  const told = pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) })
  const closings = () =>
    lines.splice(0).flatMap(({ level, reason }) => (reason === undefined ? [] : [{ level, reason }]))
  const options = { pool: own.pool, redis: own.redis, log: told, limits }
  const WARN = 40
  const INFO = 30
  await ensureAdmission(options)
  assert.deepEqual(closings(), [{ level: INFO, reason: 'admission opens for the first time' }])
  await own.pool.query(`UPDATE admission_state SET redis_run_id = 'another'`)
  await ensureAdmission(options)
  assert.deepEqual(closings(), [{ level: INFO, reason: 'Redis was started again, or another server took over' }])
  await own.redis.del(epochKey(0))
  await ensureAdmission(options)
  assert.deepEqual(closings(), [{ level: WARN, reason: 'shard 0 has no epoch' }])
  await own.pool.query(`UPDATE admission_state SET redis_run_id = 'another'`)
  const keeper = new AdmissionKeeper(options)
  await until('the keeper has rebuilt', async () => lines.length > 1)
  await keeper.stop()
  assert.deepEqual(closings(), [{ level: WARN, reason: 'Redis was started again, or another server took over' }])
})
