// Goal: an outage is one line at its start, one in each interval, and one at its end, however many connections fail.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { OutageLog } from '../../../../contract/std/outageLog.ts'

function world() {
  let nowMs = 0
  const lines: string[] = []
  const log = new OutageLog(
    {
      began: (error) => lines.push(`began ${error}`),
      goesOn: (error, failures) => lines.push(`goes on ${error} ${failures}`),
      ended: (outageMs) => lines.push(`ended ${outageMs}`),
    },
    60_000,
    () => nowMs,
  )
  const advance = (ms: number): void => {
    nowMs += ms
  }
  return { log, lines, advance }
}

test('an outage of 150 seconds that fails ten times a second on three connections has four lines', () => {
  const { log, lines, advance } = world()
  for (let i = 0; i < 1_500; i++) {
    for (const connection of ['a', 'b', 'c']) log.failed(connection, 'refused')
    advance(100)
  }
  for (const connection of ['a', 'b', 'c']) log.works(connection)
  assert.deepEqual(lines, ['began refused', 'goes on refused 1800', 'goes on refused 1800', 'ended 150000'])
})

test('it ends when the last connection works, and the next one is logged anew', () => {
  const { log, lines, advance } = world()
  log.works('a')
  log.failed('a', 'reset')
  log.failed('b', 'reset')
  advance(5)
  log.works('a')
  log.works('a')
  assert.deepEqual(lines, ['began reset'])
  log.works('b')
  log.failed('b', 'again')
  log.works('b')
  assert.deepEqual(lines, ['began reset', 'ended 5', 'began again', 'ended 0'])
})
