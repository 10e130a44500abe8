// Goal: a panel of a dashboard that reads a metric that no part serves stays empty, so it is refused.
import assert from 'node:assert/strict'
import { test } from 'node:test'

type Panel = readonly [title: string, unit: string, ...queries: readonly (readonly [expr: string, legend: string])[]]
interface Dashboard {
  readonly uid: string
  readonly panels: readonly {
    readonly id: number
    readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number }
    readonly targets: readonly { readonly refId: string; readonly expr: string }[]
  }[]
}

const { dashboardFaults, dashboardFiles } = (await import(
  new URL('../../../../scripts/docs/dashboards.mjs', import.meta.url).href
)) as {
  dashboardFaults(panels: readonly Panel[], metrics: ReadonlySet<string>): string[]
  dashboardFiles(): Promise<[name: string, text: string][]>
}

test('a metric that does not exist is named with its panel', () => {
  const panels: Panel[] = [
    ['Good', 's', ['sum by (a) (rate(a_total[$__rate_interval]))', '{{a}}'], ['max(b_seconds_bucket)', 'b']],
    ['Bad', 's', ['max(b_seconds)', 'b'], ['sum(rate(gone_total{a="1"}[$__rate_interval]))', 'c']],
  ]
  const metrics = new Set(['a_total', 'b_seconds'])
  assert.deepEqual(dashboardFaults(panels, metrics), ['Bad reads gone_total, which no part serves'])
})

test('panels have their own place, and queries their own names', async () => {
  const files = await dashboardFiles()
  assert.equal(new Set(files.map(([, text]) => (JSON.parse(text) as Dashboard).uid)).size, 4)
  for (const [name, text] of files) {
    const { panels } = JSON.parse(text) as Dashboard
    const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, i) => `${x + (i % w)},${y + Math.floor(i / w)}`),
    )
    assert.equal(new Set(cells).size, cells.length, name)
    for (const { targets } of panels) {
      assert.ok(targets.length > 0)
      assert.equal(new Set(targets.map(({ refId }) => refId)).size, targets.length)
    }
  }
})
