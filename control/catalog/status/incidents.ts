import type { Incident } from '../../../contract/api/incidents.ts'
import { DAY_MS } from '../../../contract/api/time.ts'
import { newId } from '../../../contract/wire/ids.ts'
import { type Actor, GATEWAY_WIDE, recordActivity } from '../../runtime/activity/activity.ts'
import { textArray } from '../../runtime/db/arrays.ts'
import { msColumns } from '../../runtime/db/columns.ts'
import { countOf } from '../../runtime/db/count.ts'
import type { Client, Queryable } from '../../runtime/db/pool.ts'
import type { CatalogLimits } from '../limits.ts'

const COLUMNS = `id, title, impact, models, note, resolution, ${msColumns('opened_at, closed_at')}`

/** An incident that cannot be opened or closed; the message says why. */
export class IncidentError extends Error {
  override readonly name = 'IncidentError'
}

export type NewIncident = Pick<Incident, 'title' | 'impact' | 'models' | 'note'>

/**
 * Opens an incident, in the caller's transaction.
 * @throws IncidentError while limits.incidentsOpenMax are open
 */
export async function openIncident(
  client: Client,
  actor: Actor,
  incident: NewIncident,
  limits: CatalogLimits,
): Promise<Incident> {
  const open = await countOf(client, 'SELECT count(*) FROM incidents WHERE closed_at IS NULL')
  if (open >= limits.incidentsOpenMax) {
    throw new IncidentError(`${limits.incidentsOpenMax} incidents are open; close those that are over first`)
  }
  const { title, impact, models, note } = incident
  const made = await client.query<Incident>(
    `INSERT INTO incidents (id, title, impact, models, note) VALUES ($1, $2, $3, $4::text[], $5) RETURNING ${COLUMNS}`,
    [newId('inc'), title, impact, textArray(models), note],
  )
  const opened = onlyRow(made.rows)
  await recordActivity(client, actor, [
    { accountId: GATEWAY_WIDE, type: 'incident.opened', target: opened.id, details: { title, impact, models } },
  ])
  return opened
}

/**
 * Closes an open incident, in the caller's transaction.
 * @param resolution the text on its end, or ''
 * @throws IncidentError when there is no such incident, or it is closed
 */
export async function closeIncident(client: Client, actor: Actor, id: string, resolution: string): Promise<Incident> {
  const closed = await client.query<Incident>(
    `UPDATE incidents SET closed_at = greatest(now(), opened_at), resolution = $2 WHERE id = $1 AND closed_at IS NULL RETURNING ${COLUMNS}`,
    [id, resolution],
  )
  if (closed.rows.length === 0) {
    const known = await client.query('SELECT 1 FROM incidents WHERE id = $1', [id])
    throw new IncidentError(known.rows.length === 0 ? `there is no incident ${id}` : `incident ${id} is closed already`)
  }
  await recordActivity(client, actor, [
    { accountId: GATEWAY_WIDE, type: 'incident.closed', target: id, details: { resolution } },
  ])
  return onlyRow(closed.rows)
}

/**
 * The incidents that are shown, newest first: all that are open, and those that were closed in the last
 * limits.incidentDaysShown days, at most limits.incidentsShownMax.
 */
export async function shownIncidents(db: Queryable, limits: CatalogLimits): Promise<Incident[]> {
  const found = await db.query<Incident>(
    `SELECT ${COLUMNS} FROM incidents WHERE closed_at IS NULL OR closed_at > $1
     ORDER BY closed_at IS NULL DESC, id DESC LIMIT $2`,
    [new Date(Date.now() - limits.incidentDaysShown * DAY_MS), limits.incidentsShownMax],
  )
  return found.rows.sort((a, b) => (a.id < b.id ? 1 : -1))
}

function onlyRow<Row>(rows: readonly Row[]): Row {
  const [row] = rows
  if (row === undefined) throw new Error('the database returned no row')
  return row
}
