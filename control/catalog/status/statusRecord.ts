import type { Incident } from '../../../contract/api/incidents.ts'
import { type Fields, nothingLeft } from '../../../contract/wire/fields.ts'
import { sluice } from '../../../contract/wire/generated/messages.js'
import type { Redis } from '../../../contract/wire/redis.ts'
import { STATUS_KEY } from '../../../contract/wire/redisKeys.ts'
import { publishStatusRecord } from '../../runtime/bus/feed.ts'
import type { Queryable } from '../../runtime/db/pool.ts'
import type { CatalogLimits } from '../limits.ts'
import { shownIncidents } from './incidents.ts'
import { type DayState, shownDays } from './observedDays.ts'

/** The StatusRecord of these incidents and days, encoded. Equal ones give equal bytes. */
export function encodeStatus(incidents: readonly Incident[], days: readonly DayState[]): Buffer {
  const record = {
    days: days.map(dayRecord),
    incidents: incidents.map(incidentRecord),
  }
  return Buffer.from(sluice.StatusRecord.encode(record).finish())
}

function dayRecord(seen: DayState): Fields<sluice.DayRecord.$Properties> {
  const { day, state, ...left } = seen
  nothingLeft(left)
  return { day, state }
}

function incidentRecord(incident: Incident): Fields<sluice.IncidentRecord.$Properties> {
  const { id, title, impact, models, note, openedAtMs, closedAtMs, resolution, ...left } = incident
  nothingLeft(left)
  return { id, title, impact, models: [...models], note, openedAtMs, closedAtMs: closedAtMs ?? undefined, resolution }
}

/** Writes of one call; when a change follows even the last of them, the next call writes it. */
const WRITES_MAX = 3

/**
 * Writes the status by the book into Redis and notifies every proxy, if Redis has another one.
 * @returns whether it did
 */
export async function syncStatus(db: Queryable, redis: Redis, limits: CatalogLimits): Promise<boolean> {
  // Another process may have read the book before a change of this one and write after it, so that both compare again.
  for (let written = 0; ; written++) {
    const record = encodeStatus(await shownIncidents(db, limits), await shownDays(db, limits))
    if ((await redis.getBuffer(STATUS_KEY))?.equals(record) === true) return written > 0
    if (written === WRITES_MAX) return true
    await publishStatusRecord(redis, record, limits)
  }
}
