import { read, type Shape } from '../api/client.ts'
import { shownDecimal } from '../format/money.ts'
import { Badge, Card, Figure, Source, Time } from '../parts/pieces.tsx'
import { Await, Empty } from '../parts/states.tsx'
import { type Column, Table } from '../parts/table.tsx'
import { useResource } from '../state/resource.ts'
import { credential } from '../state/session.ts'

type Series = Shape<'LockSeries'>
type Level = NonNullable<Series['book']>['bids'][number]

const columns: readonly Column<Level>[] = [
  { name: 'Coin per token', isNumber: true, cell: ({ price }) => shownDecimal(price) },
  { name: 'Tokens', isNumber: true, cell: ({ tokens }) => shownDecimal(tokens) },
]

/** Compute locks: rules and series are public, books are for those who are signed in. */
export function Locks() {
  const locks = useResource(credential.value?.token ?? '', async (signal) => ({
    found: await read('/v1/locks', undefined, { signal }),
    readAt: new Date().toISOString(),
  }))
  return (
    <Await of={locks} what="compute locks">
      {({ found, readAt }) => (
        <>
          {found.data.length === 0 && <Empty title="This gateway has no series now" />}
          {found.data.map((series) => (
            <SeriesCard key={series.id} series={series} />
          ))}
          <Card title="Rules">
            <dl class="figures facts-only">
              <Figure name="A token">{found.rules.token}</Figure>
              <Figure name="Smallest lot">{shownDecimal(found.rules.lot)}</Figure>
              <Figure name="Least limit order">${shownDecimal(found.rules.limit_order_usd_min)}</Figure>
              <Figure name="At the end of the month">{found.rules.month_end}</Figure>
            </dl>
            <Source of="GET /v1/locks" until={readAt} />
          </Card>
        </>
      )}
    </Await>
  )
}

function SeriesCard({ series }: { readonly series: Series }) {
  const { model, month, state, ends_at: end, locked_price: price, supply, provider, book } = series
  return (
    <Card title={`${model}, ${month}`} aside={<Badge state={state} />}>
      <dl class="figures">
        <Figure name="Locked price of a token">${shownDecimal(price.usd)}</Figure>
        <Figure name="Supply">{shownDecimal(supply)}</Figure>
        <Figure name="Provider">{provider}</Figure>
        <Figure name="Ends (UTC)">
          <Time of={end} />
        </Figure>
      </dl>
      {book === undefined ? (
        <p class="note">
          {credential.value === undefined
            ? 'Sign in to see the book of this series.'
            : 'No book: the series is not open.'}
        </p>
      ) : (
        <div class="stack two facts">
          <Levels title="Offers to sell" levels={book.asks} />
          <Levels title="Bids" levels={book.bids} />
        </div>
      )}
    </Card>
  )
}

function Levels({ title, levels }: { readonly title: string; readonly levels: readonly Level[] }) {
  return (
    <div>
      <h3>{title}</h3>
      {levels.length === 0 ? (
        <p class="muted">None</p>
      ) : (
        <Table caption={title} columns={columns} rows={levels} keyOf={({ price }) => price} />
      )}
    </div>
  )
}
