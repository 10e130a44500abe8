// Goal: a line of the log has the name, level and text of its event's row, and the names are fit to alert on.
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { pino } from 'pino'
import { logEventOf, logRepeatOf } from '../../../../contract/std/logEvents.ts'
import { projectRoot } from '../../../../control/launch/paths.ts'
import { CONTROL_EVENTS } from '../../../../control/runtime/logEvents.ts'
import { PROXY_EVENTS } from '../../../../proxy/logEvents.ts'

test('an event is logged with its name, level, text and fields', () => {
  const lines: string[] = []
  const log = pino({ level: 'debug', base: {} }, { write: (line: string) => lines.push(line) })
  const logEvent = logEventOf({ route_failed: ['warn', 'route failed'], ready: ['info', 'ready'] })
  logEvent(log, 'route_failed', { route: 'a/b', err: new Error('gone') })
  logEvent(log, 'ready')
  const [failed, ready] = lines.map((line) => JSON.parse(line) as Record<string, unknown>)
  const { level, event, route, msg, err } = failed ?? {}
  assert.deepEqual([level, event, route, msg], [40, 'route_failed', 'a/b', 'route failed'])
  assert.equal((err as Error).message, 'gone')
  assert.deepEqual([ready?.['level'], ready?.['event'], ready?.['msg']], [30, 'ready', 'ready'])
})

test('an error that is met on and on is a line a minute with the number of repeats, and others are lines of their own', () => {
  const lines: Record<string, unknown>[] = []
  const log = pino({ base: {} }, { write: (line: string) => void lines.push(JSON.parse(line)) })
  let nowMs = 0
  const logRepeat = logRepeatOf({ failed: ['warn', 'failed'] }, () => nowMs)
  for (; nowMs <= 60_000; nowMs += 100) {
    logRepeat(log, 'failed', { task: 'one', err: new Error('refused') })
    if (nowMs % 30_000 === 0) logRepeat(log, 'failed', { task: 'two', err: new Error('refused') })
    if (nowMs === 1_000) logRepeat(log, 'failed', { task: 'one', err: new Error('no disk') })
  }
  assert.deepEqual(
    lines.map(({ task, err, repeats }) => [task, (err as Error).message, repeats]),
    [
      ['one', 'refused', undefined],
      ['two', 'refused', undefined],
      ['one', 'no disk', undefined],
      ['one', 'refused', 599],
      ['two', 'refused', 1],
    ],
  )
})

test('errors that are never the same are all logged, and not kept', () => {
  let count = 0
  const log = pino({ base: {} }, { write: () => void count++ })
  const logRepeat = logRepeatOf({ failed: ['warn', 'failed'] })
  for (let i = 0; i < 1_000; i++) logRepeat(log, 'failed', { err: new Error(`request ${i}`) })
  assert.equal(count, 1_000)
})

test('event names are snake_case; texts begin in lower case or with a name, and have no final period', () => {
  for (const [name, [, text]] of [...Object.entries(PROXY_EVENTS), ...Object.entries(CONTROL_EVENTS)]) {
    assert.match(name, /^[a-z]+(_[a-z]+)+$/)
    assert.doesNotMatch(text, /[.\n]$/, name)
  }
})

test('the programs log only events from the tables', () => {
  const direct = /\b[lL]og\.(debug|info|warn|error|fatal)\(/
  const sources = ['proxy', 'control', 'contract', 'workers'].flatMap((part) => {
    const names = readdirSync(join(projectRoot, part), { recursive: true, encoding: 'utf8' })
    return names.filter((name) => name.endsWith('.ts')).map((name) => `${part}/${name}`)
  })
  const found = sources.filter((path) => direct.test(readFileSync(join(projectRoot, path), 'utf8')))
  assert.deepEqual(found, [], 'give the line a row in proxy/logEvents.ts or control/runtime/logEvents.ts')
})
