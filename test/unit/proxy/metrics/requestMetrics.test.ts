// Goal: a row of the table of counters is all that a counter needs: it starts at zero, is added up and is rendered.
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import {
  addCounters,
  COUNTERS,
  type CounterRow,
  newCounters,
  RequestMetrics,
  sumCounters,
} from '../../../../proxy/metrics/requestMetrics.ts'
import { renderMetrics } from '../../../../proxy/supervisor/renderMetrics.ts'
import { limits } from '../../../support/limits.ts'

/** Counters of which each member is another multiple of `step`, with a label that none had at the start. */
function filled(step: number) {
  const counters = newCounters() as Record<string, unknown>
  for (const [i, [name, row]] of Object.entries<CounterRow>(COUNTERS).entries()) {
    const value = (i + 1) * step
    if (row.buckets !== undefined) {
      counters[name] = { counts: [...row.buckets, 0].map((_, bucket) => value + bucket), sum: value / 2 }
    } else if (row.label === undefined) counters[name] = value
    else counters[name] = { ...(counters[name] as object), late: value }
  }
  return counters as ReturnType<typeof newCounters>
}

test('every row starts at zero, with the values of its label', () => {
  for (const [name, row] of Object.entries<CounterRow>(COUNTERS)) {
    const counted: unknown = Reflect.get(newCounters(), name)
    if (row.buckets !== undefined) {
      assert.deepEqual(counted, { counts: [...row.buckets, 0].map(() => 0), sum: 0 })
    } else if (row.label === undefined) assert.equal(counted, 0, name)
    else assert.deepEqual(counted, Object.fromEntries((row.values ?? []).map((value) => [value, 0])), name)
  }
})

test('sums have every member of every process, also labels that only one of them has, and after a way over JSON', () => {
  const all = [filled(1), newCounters(), JSON.parse(JSON.stringify(filled(2))), newCounters()] as const
  const expected = filled(3)
  expected.admissionSeconds.counts.splice(
    0,
    Number.POSITIVE_INFINITY,
    ...filled(3).admissionSeconds.counts.map((n, i) => n + i),
  )
  assert.deepEqual(sumCounters(all), expected)
  const one = newCounters()
  for (const counters of all) addCounters(one, counters)
  assert.deepEqual(one, expected)
})

test('the text for Prometheus has a line for every counter, label and bucket', () => {
  const counters = filled(1)
  const fleet = { retired: counters, retiredModels: {}, restarts: 0, requestsBySlot: [] }
  const { text } = renderMetrics([], fleet, limits)
  const lines = new Set(text.split('\n'))
  for (const [name, row] of Object.entries<CounterRow>(COUNTERS)) {
    const counted: unknown = Reflect.get(counters, name)
    assert.ok(lines.has(`# HELP ${row.name} ${row.help}`), row.name)
    if (row.buckets !== undefined) {
      const { counts, sum } = counters.admissionSeconds
      let count = 0
      for (const [i, more] of counts.entries()) {
        count += more
        assert.ok(lines.has(`${row.name}_bucket{le="${row.buckets[i] ?? '+Inf'}"} ${count}`), `${row.name} ${i}`)
      }
      assert.ok(lines.has(`${row.name}_sum ${sum}`) && lines.has(`${row.name}_count ${count}`), row.name)
    } else if (row.label === undefined) assert.ok(lines.has(`${row.name} ${counted}`), row.name)
    else {
      for (const [value, count] of Object.entries(counted as Record<string, number>)) {
        assert.ok(lines.has(`${row.name}{${row.label}="${value}"} ${count}`), `${row.name} ${value}`)
      }
    }
  }
})

test('a time falls into the first bucket whose bound it does not exceed', () => {
  const { buckets } = COUNTERS.admissionSeconds
  for (const [ms, bucket] of [
    [0, 0],
    [0.25, 0],
    [0.26, 1],
    [250, 7],
    [251, buckets.length],
  ] as const) {
    const metrics = new RequestMetrics(limits)
    metrics.noteAdmission(ms)
    const { counts, sum } = metrics.counters.admissionSeconds
    assert.deepEqual([counts.indexOf(1), counts.reduce((a, b) => a + b), sum], [bucket, 1, ms / 1_000])
  }
})

test('the counts that alerts name begin at zero, so that the first one shows as a rise', async () => {
  const rules = await readFile('deploy/prometheus/rules.yml', 'utf8')
  const named = [...rules.matchAll(/(sluice_\w+_total)\{\w+=~?"([^"]+)"/g)].flatMap(([, name, values = '']) => {
    const row = Object.values<CounterRow>(COUNTERS).find((counter) => counter.name === name)
    return row === undefined
      ? []
      : values.split('|').map((value) => ({ name, value, known: row.values?.includes(value) }))
  })
  assert.ok(named.length > 0)
  assert.deepEqual(
    named.filter(({ known }) => known !== true),
    [],
  )
})
