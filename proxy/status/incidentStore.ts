import type { Redis } from 'ioredis'
import { sluice } from '../../control/contract/generated/messages.js'
import { type Incident, incidentOf } from '../../control/contract/incidents.ts'
import { STATUS_KEY } from '../../control/contract/redisKeys.ts'
import { KeptRecord } from '../bus/keptRecord.ts'

/** What the operator says of the service, kept here so that it can be told while control and Redis are away. */
export class IncidentStore {
  private readonly record: KeptRecord
  private incidents: readonly Incident[] = []

  constructor(redis: Pick<Redis, 'getBuffer'>, onFault: (error: unknown) => void) {
    const onChange = (bytes: Buffer): void => {
      const { incidents } = sluice.StatusRecord.decode(bytes)
      this.incidents = incidents.map((incident) => incidentOf(sluice.IncidentRecord.create(incident)))
    }
    this.record = new KeptRecord({ redis, key: STATUS_KEY, onChange, onFault })
  }

  /** The open ones and those of the last months, newest first; none until control has told of any. */
  get all(): readonly Incident[] {
    return this.incidents
  }

  /** Reads them in the background, again and again until that succeeds once after this call. */
  renew(): void {
    this.record.renew()
  }
}
