// Goal: every id of a refused request is logged, in few lines, each of a bounded length.
import assert from 'node:assert/strict'
import { mock, test } from 'node:test'
import { pino } from 'pino'
import { RefusalLog } from '../../../../proxy/metrics/refusalLog.ts'

test('ids are gathered by error; a line is written when it is full, and the rest after the interval', (t) => {
  mock.timers.enable({ apis: ['setTimeout'] })
  t.after(() => mock.timers.reset())
  const lines: Array<[string, readonly string[]]> = []
  const write = (line: string): void => {
    const { error, requestIds } = JSON.parse(line) as { error: string; requestIds: string[] }
    lines.push([error, requestIds])
  }
  const log = new RefusalLog(pino({ base: null }, { write }), { refusalLogMs: 1_000, refusalLogIdsMax: 3 })
  for (const id of ['req_1', 'req_2', 'req_3', 'req_4']) log.note('not_found', id)
  log.note('rate_limited', 'req_5')
  assert.deepEqual(lines, [['not_found', ['req_1', 'req_2', 'req_3']]])
  mock.timers.tick(1_000)
  assert.deepEqual(lines.slice(1), [
    ['not_found', ['req_4']],
    ['rate_limited', ['req_5']],
  ])
  log.note('not_found', 'req_6')
  log.stop()
  mock.timers.tick(5_000)
  assert.deepEqual(lines.slice(3), [['not_found', ['req_6']]])
})
