import assert from 'node:assert/strict'
import { test } from 'node:test'
import { htmlReport } from '../../../../control/load/htmlReport.ts'
import { htmlText } from '../../../../control/load/htmlText.ts'
import { targetReport } from '../../../../control/load/report.ts'
import { niceTop } from '../../../../control/load/svgPlot.ts'
import { Tally } from '../../../../control/load/tally.ts'
import { limits } from '../../../support/limits.ts'

const BARS = { p99FirstMs: undefined, p99TotalMs: undefined, errorsPercent: undefined }

test('what a gateway says never becomes markup', () => {
  assert.equal(htmlText(`<a href="x" id='y'>&`), '&lt;a href=&quot;x&quot; id=&#39;y&#39;&gt;&amp;')
  const tally = new Tally(limits, 0)
  tally.addFault('wrong_receipts', 1, '<script>alert(1)</script>')
  const measured = { url: 'http://a/<b>', tally, comparedWithBook: 0, climb: undefined, stopped: '<i>', bars: BARS }
  const gateways = [targetReport(measured), targetReport(measured)]
  const page = htmlReport({ started_at: '2027-01-01', mode: '<u>', ok: false, gateways })
  assert.doesNotMatch(page, /<(script|b|i|u)>/)
  assert.doesNotMatch(page, /NaN|Infinity|undefined/)
})

test('axes end at round numbers', () => {
  assert.deepEqual([0, 1, 3, 7, 23, 99, 0.03].map(niceTop), [1, 1, 5, 10, 25, 100, 0.05])
})
