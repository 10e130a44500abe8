import { useState } from 'preact/hooks'
import { read, type Shape } from '../api/client.ts'
import { shownUsd } from '../format/money.ts'
import { shownTime } from '../format/time.ts'
import { Badge, Card, Figure, Source } from '../parts/pieces.tsx'
import { HoldBar } from '../parts/receipt.tsx'
import { Await, Empty, NeedsCredential } from '../parts/states.tsx'
import { pathTo } from '../router/match.ts'
import { useResource } from '../state/resource.ts'
import { credential, hasSession } from '../state/session.ts'

const MS_PER_SECOND = 1_000

/** A batch job by its id; the API has no list of them. */
export function Batches() {
  const [id, setId] = useState('')
  const submit = (event: SubmitEvent) => {
    event.preventDefault()
    setId(String(new FormData(event.currentTarget as HTMLFormElement).get('id')).trim())
  }
  return (
    <NeedsCredential>
      {hasSession.value ? (
        <Empty title="Batch jobs are read with the key that sent them">Sign in with that key to see its jobs.</Empty>
      ) : (
        <>
          <form class="bar find" onSubmit={submit}>
            <label class="search">
              <span class="visually-hidden">Id of a batch job</span>
              <input name="id" placeholder="Find a job by its id: batch_…" spellcheck={false} autocomplete="off" />
            </label>
            <button type="submit" class="quiet">
              Show
            </button>
          </form>
          {id === '' ? (
            <Empty title="A job is sent with batch: true, and answers with its id" />
          ) : (
            <Job key={id} id={id} />
          )}
        </>
      )}
    </NeedsCredential>
  )
}

function Job({ id }: { readonly id: string }) {
  const job = useResource(`${credential.value?.token} ${id}`, async (signal) => ({
    found: await read('/v1/batches/{id}', undefined, { params: { id }, signal }),
    readAt: new Date().toISOString(),
  }))
  return (
    <Await of={job} what="the job">
      {({ found, readAt }) => (
        <>
          <JobCard job={found} readAt={readAt} />
          <div>
            <button type="button" class="quiet" onClick={job.again}>
              Read it again
            </button>
          </div>
        </>
      )}
    </Await>
  )
}

function JobCard({ job, readAt }: { readonly job: Shape<'BatchJob'>; readonly readAt: string }) {
  const { id, status, model, hold, receipt, error } = job
  return (
    <Card title={model} aside={<Badge state={status} />}>
      {receipt === null ? (
        <dl class="figures">
          <Figure name="Held">{shownUsd(hold.usd)}</Figure>
        </dl>
      ) : (
        <HoldBar hold={receipt.hold} cost={receipt.cost} />
      )}
      <dl class="figures facts">
        <Figure name="Job">
          <code>{id}</code>
        </Figure>
        <Figure name="Sent (UTC)">{secondsShown(job.created_at)}</Figure>
        <Figure name="Ends at the latest (UTC)">{secondsShown(job.expires_at)}</Figure>
        {job.completed_at !== null && <Figure name="Completed (UTC)">{secondsShown(job.completed_at)}</Figure>}
        <Figure name="Price sheet">{job.price.sheet}</Figure>
        {receipt !== null && (
          <Figure name="Receipt">
            <a href={pathTo('request', receipt.request_id)}>with its proof</a>
          </Figure>
        )}
      </dl>
      {error !== null && <p class="fault">{error.message}</p>}
      <Source of="GET /v1/batches/{id}" until={readAt} />
    </Card>
  )
}

const secondsShown = (seconds: number): string => shownTime(new Date(seconds * MS_PER_SECOND).toISOString())
