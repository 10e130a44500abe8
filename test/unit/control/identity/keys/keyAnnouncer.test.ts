import assert from 'node:assert/strict'
import test from 'node:test'
import { pino } from 'pino'
import type { Redis } from '../../../../../contract/wire/redis.ts'
import { keyAnnouncer } from '../../../../../control/identity/keys/keyAnnouncer.ts'
import type { Pool } from '../../../../../control/runtime/db/pool.ts'
import { limitsWith } from '../../../../support/limits.ts'
import { until } from '../../../../support/until.ts'

const READS = 12
const SECONDS = 1_700_000_000

test('the outbox is read at every poll, and that nothing waits in it is noted only once an interval', async (t) => {
  const calls: string[] = []
  const answer = async <T>(call: string, reply: T): Promise<T> => {
    calls.push(call)
    return reply
  }
  const redis = {
    time: () => answer('time', [SECONDS, 0]),
    set: (_key: string, _value: string, _unit: string, atMs: number) => answer(`note ${atMs}`, 'OK'),
  } as unknown as Redis
  const pool = { query: () => answer('read', { rows: [] }) } as unknown as Pool
  const limits = limitsWith({ keyChangePollMs: 5, keyChangeNoteMs: 3_600_000, keyRecordTrustMs: 5_000 })
  const announcer = keyAnnouncer({ pool, redis, log: pino({ enabled: false }), limits })
  t.after(() => announcer.stop())
  await until('the outbox is read', () => calls.length >= READS)
  // The time is that of before the outbox was read.
  assert.deepEqual(calls.slice(0, 3), ['time', 'read', `note ${SECONDS * 1_000 + limits.keyRecordTrustMs}`])
  assert.deepEqual([...new Set(calls.slice(3))], ['read'])
})

test('a note that Redis did not take is made at the next poll', async (t) => {
  let tries = 0
  const redis = {
    time: async () => [SECONDS, 0],
    set: async () => {
      if (++tries === 1) throw new Error('Redis is away')
    },
  } as unknown as Redis
  const pool = { query: async () => ({ rows: [] }) } as unknown as Pool
  const limits = limitsWith({ keyChangePollMs: 5, keyChangeNoteMs: 3_600_000 })
  const announcer = keyAnnouncer({ pool, redis, log: pino({ enabled: false }), limits })
  t.after(() => announcer.stop())
  await until('the note is made', () => tries === 2)
})
