import assert from 'node:assert/strict'
import { test } from 'node:test'
import { emptyHistogram } from '../../../../contract/std/exposition.ts'
import type { GaugeGroup } from '../../../../control/runtime/metrics/metricGroups.ts'
import { ControlMetrics } from '../../../../control/service/metrics.ts'

test('a scrape ends while a server stands still, and asks it once however many follow', async (t) => {
  let asked = 0
  let later = 0
  const still: GaugeGroup = { help: { still: 'Of a server that stands still' }, read: () => new Promise(() => asked++) }
  const local: GaugeGroup = { help: { local: 'Of this process' }, read: async () => ({ local: 7 }) }
  const after: GaugeGroup = { help: { after: 'Read after it' }, read: async () => ({ after: ++later }) }
  const metrics = new ControlMetrics({
    settlement: () => ({ batches: 0, receipts: 0, duplicates: 0, rejects: 0, shortfallUnits: 0, retries: 0 }),
    orphansVoided: () => 0,
    takenBackUnits: () => 0,
    priceLists: () => ({ reads: 0, failures: 0 }),
    shards: () => 0,
    statements: emptyHistogram([]),
    gauges: [local, still, after],
    readsMs: 20,
    totals: [],
    labelledGauges: [],
  })
  t.after(() => metrics.stop())
  for (let i = 0; i < 3; i++) {
    const { text } = await metrics.write()
    assert.match(text, /^sluice_control_local 7$/m)
    assert.match(text, /^sluice_control_still 0$/m)
  }
  assert.equal(asked, 1)
  assert.ok(later >= 2, 'once no new read is begun, the others have their time')
})
