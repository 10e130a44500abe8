import { clusterOf, type Redis } from '../contract/wire/redis.ts'
import { RECALL_CHANNEL } from '../contract/wire/redisKeys.ts'
import { defineScript } from '../contract/wire/scripts.ts'
import { Holds } from './admission/holds.ts'
import type { AdmissionLimits } from './admission/limits.ts'
import { StrayHolds } from './admission/strayHolds.ts'
import type { faultLog } from './logEvents.ts'

interface HoldPartsOptions {
  readonly commands: Redis
  readonly owner: string
  readonly limits: AdmissionLimits
  readonly fault: ReturnType<typeof faultLog>
  readonly connected: () => boolean
  /** Redis is connected, and its servers are known. */
  readonly canTake: () => boolean
}

/** The holds that Redis keeps by themselves, and those among them whose outcome is unknown. */
export function holdParts({ commands, owner, limits, fault, connected, canTake }: HoldPartsOptions) {
  const perShard = clusterOf(commands) !== undefined
  const script = defineScript(commands, 'hold')
  const schedule = (work: () => void) => void setImmediate(work)
  const onFault = fault('hold_failed')
  const recall = (accountId: string) => void commands.publish(RECALL_CHANNEL, accountId).catch(onFault)
  const holds = new Holds({ script, schedule, owner, limits, perShard, connected: canTake, recall, onFault })
  const settle = defineScript(commands, 'settle')
  const strays = new StrayHolds({ script: settle, limits, perShard, connected, onFault: fault('hold_void_failed') })
  return { holds, strays }
}
