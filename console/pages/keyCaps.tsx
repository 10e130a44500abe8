import { read, type Shape } from '../api/client.ts'
import { shownUsd } from '../format/money.ts'
import { shownTime } from '../format/time.ts'
import { Source } from '../parts/pieces.tsx'
import { Await } from '../parts/states.tsx'
import { type Column, Table } from '../parts/table.tsx'
import { useResource } from '../state/resource.ts'

type Limits = Shape<'KeyLimits'>

interface Row {
  readonly name: string
  readonly cap: Limits['budget']
}

const columns: readonly Column<Row>[] = [
  { name: 'Cap', cell: ({ name }) => name },
  { name: 'At most', isNumber: true, cell: ({ cap }) => (cap.cap === null ? 'no cap' : shownUsd(cap.cap)) },
  { name: 'Used', isNumber: true, cell: ({ cap }) => shownUsd(cap.used) },
  { name: 'Left', isNumber: true, cell: ({ cap }) => (cap.left === null ? '' : shownUsd(cap.left)) },
  {
    name: 'Begins anew (UTC)',
    cell: ({ cap }) => (cap.resets_at === undefined ? '' : shownTime(cap.resets_at)),
  },
]

/** What a key may still spend. */
export function CapsLeft({ id }: { readonly id: string }) {
  const limits = useResource(id, async (signal) => ({
    found: await read('/v1/keys/{id}/limits', undefined, { params: { id }, signal }),
    readAt: new Date().toISOString(),
  }))
  return (
    <div class="facts">
      <Await of={limits} what="what is left">
        {({ found, readAt }) => (
          <div>
            <Table caption="Caps of the key" columns={columns} rows={rowsOf(found)} keyOf={({ name }) => name} />
            <Source of="the counters of the key, GET /v1/keys/{id}/limits" until={readAt} />
          </div>
        )}
      </Await>
    </div>
  )
}

function rowsOf({ caps, budget }: Limits): Row[] {
  const windows = Object.entries(caps).map(([name, cap]) => ({ name: `each ${name}`, cap }))
  return [...windows, { name: 'whole life', cap: budget }]
}
