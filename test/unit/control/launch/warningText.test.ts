import assert from 'node:assert/strict'
import { createServer } from 'node:net'
import test from 'node:test'
import { workerStopMaxMs } from '../../../../contract/limits/stopTime.ts'
import { OutageFilter } from '../../../../control/launch/outage.ts'
import { freePort } from '../../../../control/launch/process/freePort.ts'
import { programStopTimeoutMs } from '../../../../control/launch/runStack.ts'
import { warningOf } from '../../../../control/launch/warningText.ts'
import { limits } from '../../../support/limits.ts'
import { until } from '../../../support/stack.ts'

const line = (fields: object): string =>
  JSON.stringify({
    level: 40,
    time: 1,
    pid: 2,
    hostname: 'h',
    name: 'control',
    process: 'proxy',
    owner: 'own_1',
    ...fields,
  })

test('a warning includes its subject', () => {
  const cases: ReadonlyArray<[text: string, shown: string | undefined]> = [
    [
      line({ event: 'provider_key_missing', provider: 'acme', variable: 'K', msg: 'key not set' }),
      'key not set (provider: acme, variable: K)',
    ],
    [line({ route: 'r1', reason: 'timeout', msg: 'route failed' }), 'route failed (route: r1, reason: timeout)'],
    [line({ err: { message: 'gone', stack: 'at x' }, msg: 'settling' }), 'settling: gone'],
    [line({ err: { message: 'slow\n\nURL: http://a/\n' }, msg: 'read' }), 'read: slow URL: http://a/'],
    [line({ problems: ['a:1: x', 'a:2: y'], msg: 'refused' }), 'refused (problems: a:1: x; a:2: y)'],
    [line({ level: 30, msg: 'ready' }), undefined],
    ['a crash', 'a crash'],
    ['{"half', '{"half'],
    ['mock provider on 1', undefined],
    ['', undefined],
  ]
  for (const [text, shown] of cases) assert.equal(warningOf(text)?.text, shown)
})

test('while a server is down, the first line is shown and its recovery is reported once', async (t) => {
  const port = await freePort()
  const shown: string[] = []
  const outage = new OutageFilter((text) => shown.push(text))
  t.after(() => outage.stop())
  const take = (fields: object) => {
    const warning = warningOf(line(fields))
    if (warning !== undefined) outage.take(warning)
  }
  const refused = { err: { message: `connect ECONNREFUSED 127.0.0.1:${port}` }, msg: 'redis connection' }
  const lost = { err: { message: 'the connection to Redis was lost' }, msg: 'background task failed; retrying' }
  const silent = { err: { message: 'The request took too long to respond.\n\nURL: http://127.0.0.1:1/' }, msg: 'task' }
  take(lost)
  take(silent)
  for (let i = 0; i < 4; i++) take(refused)
  take(lost)
  take({ route: 'acme/chat', reason: 'connect ECONNREFUSED 127.0.0.1:9', msg: 'route failed' })
  take({ reason: 'other', msg: 'something else' })
  assert.deepEqual(shown, [
    'background task failed; retrying: the connection to Redis was lost',
    'route failed (route: acme/chat, reason: connect ECONNREFUSED 127.0.0.1:9)',
    'something else (reason: other)',
  ])
  shown.length = 0
  const again = createServer((socket) => socket.destroy()).listen(port, '127.0.0.1')
  t.after(() => again.close())
  await until('the end is told', () => shown.length > 0)
  assert.deepEqual(shown, [`127.0.0.1:${port} takes connections again; more about it is in the log (lines: 6)`])
  take(lost)
  assert.equal(shown.length, 2, 'the next outage is told anew')
  take(lost)
  await until('an outage of an unknown server ends as well', () => shown.length > 2)
  assert.equal(shown[2], 'no more trouble; more about it is in the log (lines: 1)')
})

test('the stop timeout of a proxy exceeds the time of its streams and settlements', () => {
  const { drainGraceMs, shutdownTimeoutMs, settleTimeoutMs } = limits
  assert.ok(programStopTimeoutMs(limits) > workerStopMaxMs(limits))
  assert.ok(workerStopMaxMs(limits) > 2 * (drainGraceMs + shutdownTimeoutMs) + settleTimeoutMs)
})
