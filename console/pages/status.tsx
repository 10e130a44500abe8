import { read, type Shape } from '../api/client.ts'
import { Badge, Card, Figure, Source, Time } from '../parts/pieces.tsx'
import { Await, Empty } from '../parts/states.tsx'
import { useResource } from '../state/resource.ts'

/** The state of the service and its history: public. */
export function Status() {
  const now = useResource('status', (signal) => read('/v1/status', undefined, { signal }))
  const history = useResource('history', (signal) => read('/v1/status/history', undefined, { signal }))
  return (
    <div class="stack">
      <Await of={now} what="the status">
        {(value) => <Now status={value} />}
      </Await>
      <Await of={history} what="the history">
        {(value) => <History history={value} />}
      </Await>
    </div>
  )
}

function Now({ status }: { readonly status: Shape<'Status'> }) {
  const { models, components, updated_at: until } = status
  return (
    <Card title="Now" aside={<Badge state={status.status} />}>
      <dl class="figures">
        <Figure name="Models that serve">
          {models.serving} of {models.listed}
        </Figure>
        {components.map(({ name, status: state }) => (
          <Figure key={name} name={capital(name)}>
            <Badge state={state} />
          </Figure>
        ))}
      </dl>
      {models.unavailable.length > 0 && <p class="note">Not available now: {models.unavailable.join(', ')}</p>}
      <Source of="GET /v1/status" until={until} />
    </Card>
  )
}

function History({ history }: { readonly history: Shape<'StatusHistory'> }) {
  const { days, incidents } = history
  const oldestFirst = days.toSorted((a, b) => (a.date < b.date ? -1 : 1))
  return (
    <>
      <Card title="History" aside={<span class="muted">UTC</span>}>
        <ul class="days" aria-label="States by day">
          {oldestFirst.map(({ date, status }) => (
            <li key={date} class={`day ${status}`} title={`${date}: ${words(status)}`}>
              <span class="visually-hidden">
                {date}: {words(status)}
              </span>
            </li>
          ))}
        </ul>
        <div class="bar muted">
          <span>{oldestFirst[0]?.date}</span>
          <span>{oldestFirst.at(-1)?.date}</span>
        </div>
      </Card>
      <Card title="Incidents">
        {incidents.length === 0 ? (
          <Empty title="No incident in these days" />
        ) : (
          <ul class="incidents">
            {incidents.map((incident) => (
              <Incident key={incident.id} incident={incident} />
            ))}
          </ul>
        )}
      </Card>
    </>
  )
}

function Incident({ incident }: { readonly incident: Shape<'Incident'> }) {
  const { title, impact, status, note, resolution, opened_at: opened, closed_at: closed } = incident
  return (
    <li>
      <h3>
        {title} <Badge state={status} />
      </h3>
      <p class="muted">
        {words(impact)}, from <Time of={opened} />
        {closed !== null && (
          <>
            {' '}
            to <Time of={closed} />
          </>
        )}
      </p>
      {note !== null && <p>{note}</p>}
      {resolution !== null && <p>{resolution}</p>}
    </li>
  )
}

const words = (state: string): string => state.replaceAll('_', ' ')
const capital = (name: string): string =>
  words(name)
    .replace(/^./, (first) => first.toUpperCase())
    .replace(/\bapi\b/i, 'API')
