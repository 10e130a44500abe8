// Books the entries of the ledger streams concurrently with others of its kind, as control does: node bookingControl.js
// DATABASE_URL REDIS_URL. Begins with the message 'begin'; answers 'end' with its CPU time in microseconds.

import { pino } from 'pino'
import { newId } from '../contract/wire/ids.ts'
import { SettlementConsumer } from '../control/book/settlement/consumer.ts'
import { createPool } from '../control/runtime/db/pool.ts'
import { limits } from './limits.ts'

const [databaseUrl = '', redisUrl = ''] = process.argv.slice(2)
const log = pino({ level: process.env['LOG_LEVEL'] ?? 'error' })
const pool = createPool(databaseUrl, limits)
let consumer: SettlementConsumer | undefined
let begun = process.cpuUsage()

process.on('message', (message) => {
  if (message === 'begin') {
    begun = process.cpuUsage()
    consumer = new SettlementConsumer({ redisUrl, pool, log, consumer: newId('own'), limits })
  } else {
    void end()
  }
})
process.on('disconnect', () => process.exit(1))
process.send?.({ ready: {} })

async function end(): Promise<void> {
  const { user, system } = process.cpuUsage(begun)
  await consumer?.stop()
  await pool.end()
  process.send?.({ cpuMicros: user + system })
}
