import { useMemo, useState } from 'preact/hooks'
import { csvText } from '../format/csv.ts'
import { grouped, shownUnits, shownUsd, unitsOf, usdOf } from '../format/money.ts'
import { colorOf, Legend, StackedBars } from '../parts/chart.tsx'
import { Card, Choice, Download, Figure, Source } from '../parts/pieces.tsx'
import { Await, Empty, NeedsCredential } from '../parts/states.tsx'
import { type Column, Table } from '../parts/table.tsx'
import { pathTo } from '../router/match.ts'
import { useResource } from '../state/resource.ts'
import { credential, hasSession } from '../state/session.ts'
import { type GroupSums, groupSums, type Measure, OTHERS, seriesOf } from '../usage/pivot.ts'
import { type Dimension, periodsOf, type Range, readUsage, SOURCES, type UsageFound } from '../usage/readUsage.ts'

/** More series than this cannot be told apart. */
const SERIES_MAX = 6

const RANGES = [
  ['week', '7 days'],
  ['month', '30 days'],
  ['year', '12 months'],
] as const
const MEASURES = [
  ['cost', 'Cost'],
  ['requests', 'Requests'],
  ['tokens', 'Tokens'],
] as const
const BY_KEY = [
  ['model', 'Model'],
  ['key', 'Key'],
] as const
const BY_SESSION = [...BY_KEY, ['tag', 'Tag']] as const

/** Usage over time; one call for what is shown. */
export function Usage() {
  return (
    <NeedsCredential>
      <UsageOfCaller />
    </NeedsCredential>
  )
}

function UsageOfCaller() {
  const [range, setRange] = useState<Range>('month')
  const [by, setBy] = useState<Dimension>('model')
  const [measure, setMeasure] = useState<Measure>('cost')
  const who = credential.value?.token ?? ''
  const usage = useResource(`${who} ${range} ${by}`, (signal) => readUsage(range, by, hasSession.value, signal))
  return (
    <div class="stack">
      <div class="bar">
        <Choice label="Time" values={RANGES} value={range} onChange={setRange} />
        <div class="bar-group">
          <Choice label="Group by" values={hasSession.value ? BY_SESSION : BY_KEY} value={by} onChange={setBy} />
          <Choice label="Measure" values={MEASURES} value={measure} onChange={setMeasure} />
        </div>
      </div>
      <Await of={usage} what="usage">
        {(found) => <Shown found={found} measure={measure} />}
      </Await>
    </div>
  )
}

function Shown({ found, measure }: { readonly found: UsageFound; readonly measure: Measure }) {
  const { answer, rows, range, by, readAt } = found
  const { from, to, total } = answer
  const periods = useMemo(() => periodsOf(range, from, to), [found])
  const series = useMemo(() => seriesOf(rows, periods, measure, SERIES_MAX), [found, measure])
  const sums = useMemo(() => groupSums(rows), [found])
  if (total.requests === 0) {
    return (
      <Empty title={`No request from ${from} to ${to}`}>
        <a href={pathTo('playground')}>Try a model</a>
      </Empty>
    )
  }
  return (
    <>
      <Card title="Total" aside={<span class="muted">{`${from} to ${to} (UTC)`}</span>}>
        <dl class="figures">
          <Figure name="Cost">{shownUsd(total.cost.usd)}</Figure>
          <Figure name="Requests">{grouped(total.requests)}</Figure>
          <Figure name="Input tokens" note={`${grouped(total.cached_input_tokens)} from the cache`}>
            {grouped(total.input_tokens)}
          </Figure>
          <Figure name="Output tokens">{grouped(total.output_tokens)}</Figure>
        </dl>
      </Card>
      <Card title={`${TITLES[measure]} by ${by}`} aside={<Legend series={series} />}>
        <StackedBars
          label={`${TITLES[measure]} by ${by} from ${from} to ${to}; the figures are in the table below`}
          periods={periods}
          series={series}
          shown={SHOWN[measure]}
        />
      </Card>
      <Card
        title={`Each ${by}`}
        aside={
          <Download name={`usage-${from}-${to}.csv`} text={() => csvOf(found)}>
            Download CSV
          </Download>
        }
      >
        <Table caption={`Usage of each ${by}`} columns={columnsOf(by, sums)} rows={sums} keyOf={({ group }) => group} />
        {answer.has_more && <p class="note">There are more groups than one answer has; the total above counts all.</p>}
        <Source of={SOURCES[by]} until={readAt} />
      </Card>
    </>
  )
}

const TITLES: Readonly<Record<Measure, string>> = { cost: 'Cost', requests: 'Requests', tokens: 'Tokens' }
const shownCount = (value: number): string => grouped(Math.round(value))
const SHOWN: Readonly<Record<Measure, (value: number) => string>> = {
  cost: (value) => shownUnits(BigInt(Math.round(value))),
  requests: shownCount,
  tokens: shownCount,
}

function columnsOf(by: Dimension, sums: readonly GroupSums[]): readonly Column<GroupSums>[] {
  const places = new Map(sums.map(({ group }, place) => [group, Math.min(place, SERIES_MAX)]))
  return [
    {
      name: by === 'model' ? 'Model' : by === 'key' ? 'Key' : 'Tag',
      cell: ({ group }) => (
        <span class="series-name">
          <i style={{ background: colorOf(places.get(group) ?? 0) }} aria-hidden="true" />
          <span>{group === OTHERS ? 'all others' : group}</span>
        </span>
      ),
    },
    { name: 'Requests', isNumber: true, cell: ({ requests }) => grouped(requests) },
    { name: 'Input tokens', isNumber: true, cell: ({ inputTokens }) => grouped(inputTokens) },
    { name: 'Output tokens', isNumber: true, cell: ({ outputTokens }) => grouped(outputTokens) },
    { name: 'Cost', isNumber: true, cell: ({ units }) => shownUnits(units) },
  ]
}

function csvOf({ answer, range, by }: UsageFound): string {
  const names = [
    range === 'year' ? 'month' : 'day',
    by,
    'requests',
    'input_tokens',
    'cached_input_tokens',
    'output_tokens',
  ]
  const rows = answer.data.map((row) => [
    row.month ?? row.day ?? '',
    row.model ?? row.key_id ?? (row.tag ? JSON.stringify(row.tag) : ''),
    row.requests,
    row.input_tokens,
    row.cached_input_tokens,
    row.output_tokens,
    usdOf(unitsOf(row.cost.units)),
  ])
  return csvText([...names, 'cost_usd'], rows)
}
