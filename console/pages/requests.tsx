import { read, type Shape } from '../api/client.ts'
import { grouped, shownUsd } from '../format/money.ts'
import { shownDuration } from '../format/time.ts'
import { UNKNOWN } from '../format/unknown.ts'
import { Pager, usePages } from '../parts/pager.tsx'
import { Badge, Card, Source, Time } from '../parts/pieces.tsx'
import { Await, Empty, NeedsCredential } from '../parts/states.tsx'
import { type Column, Table } from '../parts/table.tsx'
import { goTo } from '../router/location.ts'
import { pathTo } from '../router/match.ts'
import { useResource } from '../state/resource.ts'
import { credential } from '../state/session.ts'

type Receipt = Shape<'Receipt'>

const PAGE = 25

const columns: readonly Column<Receipt>[] = [
  {
    name: 'Time (UTC)',
    cell: ({ created, request_id: id }) => (
      <a href={pathTo('request', id)}>
        <Time of={created} />
      </a>
    ),
  },
  { name: 'Model', cell: ({ model }) => model },
  { name: 'Cost', isNumber: true, cell: ({ cost }) => shownUsd(cost.usd) },
  { name: 'Hold', isNumber: true, cell: ({ hold }) => shownUsd(hold.usd) },
  { name: 'Endpoint', cell: ({ endpoint }) => endpoint },
  { name: 'Status', cell: ({ status }) => <Badge state={status} /> },
  { name: 'Input', isNumber: true, cell: ({ usage }) => grouped(usage.prompt_tokens) },
  { name: 'Output', isNumber: true, cell: ({ usage }) => grouped(usage.completion_tokens) },
  { name: 'First token', isNumber: true, cell: ({ first_token_ms: ms }) => shownDuration(ms) },
  { name: 'Time taken', isNumber: true, cell: ({ duration_ms: ms }) => shownDuration(ms) },
  { name: 'Tries', isNumber: true, cell: ({ tries }) => tries ?? UNKNOWN },
]

/** The log of requests, by cursor. */
export function Requests() {
  return (
    <NeedsCredential>
      <FindRequest />
      <RequestList />
    </NeedsCredential>
  )
}

function RequestList() {
  const pages = usePages()
  const who = credential.value?.token ?? ''
  const list = useResource(`${who} ${pages.after}`, async (signal) => {
    const query = { limit: PAGE, ...(pages.after !== '' && { after: pages.after }) }
    return { page: await read('/v1/receipts', query, { signal }), readAt: new Date().toISOString() }
  })
  return (
    <Await of={list} what="receipts">
      {({ page: { data, has_more: hasMore }, readAt }) =>
        data.length === 0 ? (
          <Empty title="No request has a receipt yet">
            <a href={pathTo('playground')}>Try a model</a>
          </Empty>
        ) : (
          <Card title="Receipts">
            <Table caption="Receipts" columns={columns} rows={data} keyOf={({ request_id: id }) => id} />
            <Pager pages={pages} next={hasMore ? data.at(-1)?.request_id : undefined} />
            <Source of="booked receipts, GET /v1/receipts" until={readAt} />
          </Card>
        )
      }
    </Await>
  )
}

/** Refused requests have no receipt, so that they are found by their id alone. */
function FindRequest() {
  const submit = (event: SubmitEvent) => {
    event.preventDefault()
    const id = String(new FormData(event.currentTarget as HTMLFormElement).get('id')).trim()
    if (id !== '') goTo('request', id)
  }
  return (
    <form class="bar find" onSubmit={submit}>
      <label class="search">
        <span class="visually-hidden">Id of a request</span>
        <input name="id" placeholder="Find a request by its id: req_…" spellcheck={false} autocomplete="off" />
      </label>
      <button type="submit" class="quiet">
        Show
      </button>
      <p class="muted">Refused requests have no receipt; their id says why they were refused.</p>
    </form>
  )
}
