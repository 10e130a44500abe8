import { read, type Shape } from '../api/client.ts'
import { shownDecimal, shownUsd } from '../format/money.ts'
import { Badge, Card, Figure, Source } from '../parts/pieces.tsx'
import { Await, Empty } from '../parts/states.tsx'
import { type Column, Table } from '../parts/table.tsx'
import { useResource } from '../state/resource.ts'

type Held = Shape<'Reserve'>['held'][number]
type Owed = Shape<'Reserve'>['owed'][number]

const heldColumns: readonly Column<Held>[] = [
  { name: 'Asset', cell: ({ asset }) => asset },
  { name: 'Holder', cell: ({ holder }) => holder },
  { name: 'Address', cell: ({ address }) => <code class="address">{address}</code> },
  { name: 'Amount', isNumber: true, cell: ({ amount }) => shownDecimal(amount) },
  { name: 'USD', isNumber: true, cell: ({ usd }) => shownUsd(usd) },
]
const owedColumns: readonly Column<Owed>[] = [
  { name: 'Owed to', cell: ({ class: name }) => name.replaceAll('_', ' ') },
  { name: 'Asset', cell: ({ asset }) => asset },
  { name: 'Accounts', isNumber: true, cell: ({ accounts }) => accounts },
  { name: 'Amount', isNumber: true, cell: ({ amount }) => shownDecimal(amount) },
  { name: 'USD', isNumber: true, cell: ({ usd }) => shownUsd(usd) },
]

/** The reserve: public. */
export function Reserve() {
  const reserve = useResource('reserve', (signal) => read('/v1/reserve', undefined, { signal }))
  return (
    <Await of={reserve} what="the reserve">
      {(value) => <Sums reserve={value} />}
    </Await>
  )
}

function Sums({ reserve }: { readonly reserve: Shape<'Reserve'> }) {
  const { held, owed, covered, ratio } = reserve
  return (
    <div class="stack">
      <Card title="Covered" aside={covered !== null && <Badge state={covered ? 'ok' : 'failed'} />}>
        <dl class="figures">
          <Figure name="Held">{shownUsd(reserve.held_usd)}</Figure>
          <Figure name="Owed">{shownUsd(reserve.owed_usd)}</Figure>
          <Figure name="Held for each dollar owed">{ratio === null ? 'nothing is owed' : shownDecimal(ratio)}</Figure>
          {reserve.block !== null && (
            <Figure name="Block" note={reserve.network ?? ''}>
              {reserve.block}
            </Figure>
          )}
        </dl>
        <Source of="the chain and the book, GET /v1/reserve" until={reserve.read_at} />
      </Card>
      <Card title="Held">
        {held.length === 0 ? (
          <Empty title="No holding is stated">This gateway has no chain, so that it takes no deposits.</Empty>
        ) : (
          <Table caption="Holdings" columns={heldColumns} rows={held} keyOf={({ address, asset }) => asset + address} />
        )}
      </Card>
      <Card title="Owed">
        {owed.length === 0 ? (
          <Empty title="Nothing is owed" />
        ) : (
          <Table caption="Debts" columns={owedColumns} rows={owed} keyOf={({ class: name, asset }) => name + asset} />
        )}
      </Card>
    </div>
  )
}
