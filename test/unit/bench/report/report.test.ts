import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type BenchCase, CASES, SMALL, STREAM, TARGET_NAMES } from '../../../../bench/cases.ts'
import { reportPicture, reportText } from '../../../../bench/report/report.ts'
import { ratioChart, type SvgChart } from '../../../../bench/report/svg.ts'
import type { BenchResults } from '../../../../bench/results.ts'
import { benchResults, measurement, sample } from '../../../support/benchResults.ts'
import { itemOf } from '../../../support/present.ts'

function text(results: BenchResults, notes = ''): string {
  return reportText({ results, profiles: undefined, notes, picture: 'report.svg' })
}

/** Every case on every target that it is for, each target twice as dear as the one before. */
function wholeResults(): BenchResults {
  const cost = ({ streamed, tokens }: BenchCase) => (streamed ? tokens : 10)
  const measurements = CASES.flatMap((kind) =>
    TARGET_NAMES.filter((target) => kind.targets.includes(target)).flatMap((target) =>
      [1, 2, 3].map((round) =>
        measurement(kind.name, target, round, cost(kind) * 2 ** TARGET_NAMES.indexOf(target), { events: 100 }),
      ),
    ),
  )
  const rounds = [{ few: sample(50), loaded: sample(50), active: sample(51) }]
  return benchResults({
    measurements,
    accounts: { few: 10, many: 100_000, active: 10_000, startSeconds: 9, rounds },
    installation: {
      hotKeys: 10,
      coldKeys: 3_000,
      connections: 64,
      nginx: [20],
      loads: (['hot', 'cold'] as const).map((keys) => ({
        keys,
        workers: 1,
        round: 1,
        requests: 100,
        requestsPerSecond: 5_000,
        cpuMicros: { proxy: 8_000, redis: 4_000, control: 2_000, postgres: keys === 'hot' ? 1_000 : 9_000 },
      })),
    },
    memory: { samples: Array.from({ length: 20 }, (_, i) => ({ requests: (i + 1) * 25_000, residentBytes: 2 ** 27 })) },
    settlement: { runs: [{ receipts: 100_000, accounts: 1_000, elapsedMs: 5_000, cpuMicrosPerReceipt: 20 }] },
    allocations: [{ case: SMALL, requests: 10, events: 0, bytes: 10_240, top: [] }],
    books: [{ title: 'All', requests: 7, receipts: 7, auditClean: true, auditOutput: 'everything holds' }],
  })
}

/** The cells of the table row that begins with this. */
function row(report: string, first: string): string[] {
  const line = report.split('\n').find((one) => one.startsWith(`| ${first} |`))
  assert.ok(line !== undefined, `no row ${first} in\n${report}`)
  return line.slice(2, -2).split(' | ')
}

test('a row has the CPU time of each gateway, with its ratio to nginx', () => {
  const report = text(wholeResults())
  assert.deepEqual(row(report, 'small answer, not streamed'), [
    'small answer, not streamed',
    '10.0 (10.0 to 10.0)',
    '20.0 (2.00x)',
    '40.0 (4.00x)',
    '80.0 (8.00x)',
    '160.0 (16.0x)',
    '320.0 (32.0x)',
  ])
  assert.match(report, /^!\[.*\]\(report\.svg\)$/m)
  for (const heading of ['What was to be reached', 'Many accounts', 'Memory over many requests', 'Memory allocated']) {
    assert.ok(report.includes(`## ${heading}\n`), heading)
  }
})

test('targets that are not reached are named, with their notes', () => {
  const report = text(wholeResults(), 'We tried hard.')
  assert.ok(report.includes('- CPU per small request, full money path, against nginx: 32.0x, not at most 3.00x.'))
  assert.ok(report.includes('We tried hard.'))
  const fast = benchResults({ measurements: [measurement(SMALL, 'nginx', 1, 10), measurement(SMALL, 'sluice', 1, 20)] })
  assert.ok(!text(fast, 'We tried hard.').includes('We tried hard.'))
})

test('without a measurement there is no section and no number', () => {
  const report = text(benchResults())
  assert.doesNotMatch(report, /NaN|Infinity|undefined|null/)
  const headings = report.split('\n').filter((line) => line.startsWith('## '))
  assert.deepEqual(headings, ['## What was to be reached', '## How it was measured'])
  assert.doesNotMatch(text(wholeResults()), /NaN|Infinity|undefined|null/)
})

test('profiles are shown in microseconds a request beside the baseline', () => {
  const profile = (share: number, cpuMicros: number) => ({
    at: '2026-01-01T00:00:00.000Z',
    cases: [
      {
        case: STREAM,
        requests: 100,
        events: 0,
        cpuMicros,
        rows: [{ name: 'push', file: 'proxy/sse/frameReader.ts', share }],
      },
    ],
  })
  const profiles = { before: profile(0.5, 20_000), now: profile(0.25, 10_000) }
  const report = reportText({ results: benchResults(), profiles, notes: '', picture: 'x.svg' })
  assert.deepEqual(row(report, '`push` proxy/sse/frameReader.ts').slice(1), ['25.00', '25.0 %', '100.00'])
  assert.deepEqual(row(report, 'everything').slice(1), ['100.00', '100 %', '200.00'])
})

/** What a picture is made of, by a plain look at its elements. */
function elements(svg: string, name: string): Record<string, string>[] {
  return [...svg.matchAll(new RegExp(`<${name} ([^>]*?)/?>`, 'g'))].map((match) =>
    Object.fromEntries([...itemOf(match, 1).matchAll(/([\w-]+)="([^"]*)"/g)].map((pair) => [pair[1], pair[2]])),
  )
}

const CHART: SvgChart = {
  title: 'Ratios & <more>',
  subtitle: 'of a "test"',
  base: 'base',
  groups: [
    {
      title: 'one',
      bars: [
        { label: 'half', ratio: 0.5, series: 'a' },
        { label: 'four', ratio: 4, series: 'd' },
        { label: 'hundred', ratio: 100, series: 'b' },
      ],
    },
  ],
}

test('bars begin at the line of 1 and are as long as the logarithm of their ratio', () => {
  const svg = ratioChart(CHART)
  const one = elements(svg, 'line').find((line) => line['class'] === 'one')
  const origin = Number(one?.['x1'])
  const bars = elements(svg, 'rect')
    .filter((rect) => rect['class'] !== 'ground')
    .map(({ x, width }) => ({ from: Number(x), to: Number(x) + Number(width), width: Number(width) }))
  const half = itemOf(bars, 0)
  const four = itemOf(bars, 1)
  const hundred = itemOf(bars, 2)
  assert.ok(Math.abs(half.to - origin) < 0.2 && Math.abs(four.from - origin) < 0.2)
  assert.ok(Math.abs(four.width / half.width - 2) < 0.02, `${four.width} is not twice ${half.width}`)
  assert.ok(Math.abs(hundred.width / four.width - Math.log(100) / Math.log(4)) < 0.02)
  const width = Number(itemOf(elements(svg, 'svg'), 0)['width'])
  for (const { from, to } of [half, four, hundred]) assert.ok(from > 0 && to < width)
})

test('a picture is well formed, escapes its texts and follows the colour scheme', () => {
  const svg = ratioChart(CHART)
  assert.ok(svg.includes('Ratios &amp; &lt;more&gt;') && svg.includes('of a &quot;test&quot;'))
  assert.ok(svg.includes('@media (prefers-color-scheme: dark)'))
  const open = [...svg.matchAll(/<(\w+)(?:\s[^>]*[^/])?>/g)].map((match) => match[1])
  const closed = [...svg.matchAll(/<\/(\w+)>/g)].map((match) => match[1])
  assert.deepEqual(open.toSorted(), closed.toSorted())
  assert.doesNotMatch(svg, /NaN|Infinity|undefined/)
})

test('the picture has a group for every case that was measured and a bar for every gateway', () => {
  const svg = reportPicture(wholeResults())
  const titles = [...svg.matchAll(/<text class="ink group"[^>]*>([^<]*)</g)].map((match) => match[1])
  assert.equal(titles.length, 6)
  const small = elements(svg, 'rect').filter(({ class: series }) => series === 'd')
  assert.equal(small.length, 6)
  assert.doesNotMatch(reportPicture(benchResults()), /NaN|Infinity|undefined/)
})

test('the whole installation is shown by process, with the process that ends it', () => {
  const report = text(wholeResults())
  assert.deepEqual(row(report, 'hot keys, 1 worker'), [
    'hot keys, 1 worker',
    '80.0 (4.00x)',
    '40.0 (2.00x)',
    '20.0 (1.00x)',
    '10.0 (0.50x)',
    '150.0 (7.50x)',
    '5,000',
  ])
  assert.match(report, /PostgreSQL ends the installation, at 320,000 requests a second/)
  assert.match(report, /PostgreSQL ends the installation, at 35,556 requests a second/)
  assert.deepEqual(row(report, 'Redis').slice(0, 5), ['Redis', '1', '5', '50', '1,280,000'])
  assert.doesNotMatch(text(benchResults()), /whole installation/)
})
