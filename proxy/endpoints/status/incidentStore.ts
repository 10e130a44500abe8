import { type Incident, incidentOf, type ServiceState, serviceStateOf } from '../../../contract/api/incidents.ts'
import { sluice } from '../../../contract/wire/generated/messages.js'
import type { Redis } from '../../../contract/wire/redis.ts'
import { STATUS_KEY } from '../../../contract/wire/redisKeys.ts'
import { KeptRecord } from '../../bus/keptRecord.ts'

/**
 * The operator's incidents and the gateway's observations, kept in this process so that they can be served while control and
 * Redis are down.
 */
export class IncidentStore {
  private readonly record: KeptRecord
  private incidents: readonly Incident[] = []
  private seenDays: ReadonlyMap<number, ServiceState> = new Map()

  constructor(redis: Pick<Redis, 'getBuffer'>, onFault: (error: unknown) => void) {
    const onChange = (bytes: Buffer): void => {
      const { incidents, days } = sluice.StatusRecord.decode(bytes)
      this.incidents = incidents.map((incident) => incidentOf(sluice.IncidentRecord.create(incident)))
      const records = days.map((record) => sluice.DayRecord.create(record))
      this.seenDays = new Map(records.map(({ day, state }) => [day, serviceStateOf(state)]))
    }
    this.record = new KeptRecord({ redis, key: STATUS_KEY, onChange, onFault })
  }

  /** The open ones and those of the last months, newest first; empty until control has published any. */
  get all(): readonly Incident[] {
    return this.incidents
  }

  /** The days on which the gateway ran (days since 1970, UTC), with the worst that it saw itself. */
  get days(): ReadonlyMap<number, ServiceState> {
    return this.seenDays
  }

  /** Reads them in the background, with retries until one read succeeds after this call. */
  renew(): void {
    this.record.renew()
  }

  /** Reads them no more. */
  stop(): void {
    this.record.stop()
  }
}
