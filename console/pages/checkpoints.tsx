import { read, type Shape } from '../api/client.ts'
import { grouped } from '../format/money.ts'
import { Pager, usePages } from '../parts/pager.tsx'
import { Card, Code, Source, Time } from '../parts/pieces.tsx'
import { Await, Empty } from '../parts/states.tsx'
import { type Column, Table } from '../parts/table.tsx'
import { useResource } from '../state/resource.ts'

type Checkpoint = Shape<'CheckpointList'>['data'][number]

const PAGE = 20

const columns: readonly Column<Checkpoint>[] = [
  { name: 'Signed (UTC)', cell: ({ signed_at: time }) => <Time of={time} /> },
  { name: 'Heads', isNumber: true, cell: ({ size }) => grouped(size) },
  { name: 'Root', cell: ({ note }) => <code class="hash">{note.split('\n')[2]}</code> },
]

/** Checkpoints of the usage log: public. */
export function Checkpoints() {
  const pages = usePages()
  const after = pages.after === '' ? undefined : Number(pages.after)
  const list = useResource(`checkpoints ${pages.after}`, (signal) =>
    read('/v1/log/checkpoints', { limit: PAGE, ...(after !== undefined && { after }) }, { signal }),
  )
  return (
    <Await of={list} what="checkpoints">
      {({ data, has_more: hasMore }) => {
        const [newest] = data
        if (newest === undefined) return <Empty title="Nothing has been signed yet" />
        return (
          <div class="stack">
            <Card title="Verifier key">
              <Code text={newest.key} label="the verifier key" />
            </Card>
            <Card title="Checkpoints">
              <Table caption="Checkpoints" columns={columns} rows={data} keyOf={({ size }) => String(size)} />
              <Pager pages={pages} next={hasMore ? String(data.at(-1)?.size) : undefined} />
            </Card>
            <Card title="The newest, as a signed note">
              <Code text={newest.note} label="the signed note" />
              <Source of="GET /v1/log/checkpoints" until={newest.signed_at} />
            </Card>
          </div>
        )
      }}
    </Await>
  )
}
