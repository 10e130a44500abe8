import { useState } from 'preact/hooks'
import type { ApiError } from '../api/apiError.ts'
import { change, read, type Shape } from '../api/client.ts'
import { shownUsd } from '../format/money.ts'
import { Source, Time } from '../parts/pieces.tsx'
import { Await, Empty, Failure } from '../parts/states.tsx'
import { type Column, Table } from '../parts/table.tsx'
import { asApiError, useResource } from '../state/resource.ts'

type Approval = Shape<'Approval'>
type Decision = 'approve' | 'deny'

const PAGE = 50

/** Requests and payments of an agent that wait for its owner. */
export function Approvals({ slug }: { readonly slug: string }) {
  const [error, setError] = useState<ApiError>()
  const list = useResource(slug, async (signal) => ({
    page: await read('/v1/agents/{slug}/approvals', { status: 'pending', limit: PAGE }, { params: { slug }, signal }),
    readAt: new Date().toISOString(),
  }))
  const decide = async (id: string, decision: Decision) => {
    setError(undefined)
    try {
      await change('post', `/v1/agents/{slug}/approvals/{id}/${decision}`, {}, { slug, id })
    } catch (failure) {
      setError(asApiError(failure))
    }
    list.again()
  }
  return (
    <div class="facts">
      {error !== undefined && <Failure error={error} />}
      <Await of={list} what="approvals">
        {({ page: { data }, readAt }) =>
          data.length === 0 ? (
            <Empty title="Nothing waits for approval" />
          ) : (
            <div>
              <Table caption="Waiting for approval" columns={columnsOf(decide)} rows={data} keyOf={({ id }) => id} />
              <Source of="GET /v1/agents/{slug}/approvals" until={readAt} />
            </div>
          )
        }
      </Await>
    </div>
  )
}

function columnsOf(decide: (id: string, decision: Decision) => Promise<void>): readonly Column<Approval>[] {
  return [
    { name: 'Asked (UTC)', cell: ({ created_at: time }) => <Time of={time} /> },
    {
      name: 'For',
      cell: ({ subject, model, endpoint, to }) => [subject, model ?? to, endpoint].filter(Boolean).join(', '),
    },
    { name: 'At most', isNumber: true, cell: ({ hold }) => shownUsd(hold.usd) },
    { name: 'Ends (UTC)', cell: ({ expires_at: time }) => <Time of={time} /> },
    {
      name: 'Decision',
      cell: ({ id }) => (
        <span class="bar-group">
          <button type="button" class="quiet" onClick={() => decide(id, 'approve')}>
            Approve
          </button>
          <button type="button" class="danger" onClick={() => decide(id, 'deny')}>
            Deny
          </button>
        </span>
      ),
    },
  ]
}
