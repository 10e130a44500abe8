// Goal: a disk that takes no lines costs a bounded number of bytes and one line of the log, and no exception.
import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { after, test } from 'node:test'
import { pino } from 'pino'
import { NO_USAGE } from '../../../../contract/money/charge.ts'
import { type AccessEntry, AccessLog } from '../../../../proxy/metrics/accessLog.ts'
import { limitsWith } from '../../../support/limits.ts'
import { until } from '../../../support/stack.ts'
import { makeTempDir, removeTempDir } from '../../../support/tempDir.ts'

const dir = makeTempDir('access-log-unit')
after(() => removeTempDir(dir))

const limits = limitsWith({ accessLogBytesMax: 65_536, accessLogFlushMs: 5 })
const entry: AccessEntry = {
  requestId: 'req_1',
  accountId: 'acct_1',
  keyId: 'key_1',
  model: 'acme/"one"\n',
  provider: 'acme',
  key: 'k',
  operation: 'chat',
  status: 'ok',
  errorCode: null,
  usage: NO_USAGE,
  chargedUnits: 1,
  holdUnits: 2,
  tries: 1,
  streamed: false,
  durationMs: 3,
  admissionMs: 0.5,
  firstByteMs: 1,
}

const exchange = { id: 'req_1', head: { method: 'POST', path: '/', forwardedFor: '' }, remoteAddress: () => '' }

/** A log whose events are kept. */
function keptLog() {
  const events: string[] = []
  const sink = new Writable({
    write(line: Buffer, _encoding, done) {
      events.push((JSON.parse(line.toString()) as { event: string }).event)
      done()
    },
  })
  return { log: pino(sink), events }
}

const newLog = (path: string) => {
  const { log, events } = keptLog()
  return { path, log: new AccessLog(path, () => '', log, limits), events }
}

test('a line is one line of JSON, whatever its texts are', async () => {
  const { path, log } = newLog(join(dir, 'lines'))
  log.ended(exchange, entry, 0)
  await until('the line is written', () => existsSync(path) && readFileSync(path, 'utf8').endsWith('\n'))
  await log.stop()
  const text = readFileSync(path, 'utf8')
  assert.equal(text.indexOf('\n'), text.length - 1)
  const { time, id, model, providerKey } = JSON.parse(text) as Record<string, unknown>
  assert.deepEqual([time, id, model, providerKey], ['1970-01-01T00:00:00.000Z', 'req_1', 'acme/"one"\n', 'k'])
})

test('lines are whole and in their order, however many are written in one piece', async () => {
  const path = join(dir, 'many')
  const log = new AccessLog(
    path,
    () => '',
    keptLog().log,
    limitsWith({ accessLogBytesMax: 16_777_216, accessLogFlushMs: 5 }),
  )
  const count = 20_000
  for (let i = 0; i < count; i++) {
    log.ended(exchange, { ...entry, holdUnits: i }, i)
    if (i % 1_000 === 0) await new Promise(setImmediate)
  }
  await until('all are written', () => existsSync(path) && readFileSync(path, 'utf8').split('\n').length > count)
  await log.stop()
  const lines = readFileSync(path, 'utf8').trimEnd().split('\n')
  assert.deepEqual([lines.length, log.dropped], [count, 0])
  for (const [i, line] of lines.entries()) assert.equal((JSON.parse(line) as { holdUnits: number }).holdUnits, i)
})

test('a full disk drops lines beyond the bound, and is one event of the log', async () => {
  const { log, events } = newLog('/dev/full')
  for (let i = 0; i < 2_000; i++) log.ended(exchange, entry, i)
  await until('the fault is logged', () => events.length > 0)
  for (let i = 0; i < 2_000; i++) log.ended(exchange, entry, i)
  assert.ok(log.dropped > 3_000, `${log.dropped}`)
  assert.deepEqual(events, ['access_log_failed'])
  await log.stop()
})

test('a file that cannot be opened is an event of the log, and opens later', async () => {
  const folder = join(dir, 'late')
  const { path, log, events } = newLog(join(folder, 'access.jsonl'))
  log.ended(exchange, entry, 0)
  await until('the fault is logged', () => events.length > 0)
  log.ended(exchange, entry, 1)
  mkdirSync(folder)
  // The last one may be in the middle of being written.
  const timesIn = (text: string) =>
    text
      .split('\n')
      .slice(0, -1)
      .map((line) => (JSON.parse(line) as { time: string }).time)
  await until('both lines are written', () => existsSync(path) && timesIn(readFileSync(path, 'utf8')).length === 2)
  await until('the end of the fault is logged', () => events.length > 1)
  assert.deepEqual(events, ['access_log_failed', 'access_log_recovered'])
  await log.stop()
})
