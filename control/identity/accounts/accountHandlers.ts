import { parseUsd } from '../../../contract/money/units.ts'
import type { Redis } from '../../../contract/wire/redis.ts'
import type { ReadHandler, WriteHandler } from '../../api/call.ts'
import { listJson, pageOf } from '../../api/lists.ts'
import { type UsageFields, usageQuery } from '../../book/usage/usageQuery.ts'
import { readUsage } from '../../book/usage/usageReads.ts'
import { listActivity, recordActivity } from '../../runtime/activity/activity.ts'
import { announceKeyChanges } from '../../runtime/bus/announceKeyChanges.ts'
import type { Pool } from '../../runtime/db/pool.ts'
import type { IdentityLimits } from '../limits.ts'
import { accountJson } from './accountJson.ts'
import { type AccountChanges, changeAccount } from './settings.ts'

type AccountOperation = 'get_account' | 'update_account' | 'list_activity' | 'get_usage' | 'get_own_usage'

/** The endpoints of an account itself. */
export function accountHandlers(
  pool: Pool,
  redis: Redis,
  limits: IdentityLimits,
): Record<AccountOperation, ReadHandler | WriteHandler<unknown>> {
  return {
    get_account: {
      read: async ({ accountId }) => ({ json: await accountJson(pool, redis, accountId, limits) }),
    },
    update_account: {
      write: async ({ accountId, actor, body }, client) => {
        await changeAccount(client, accountId, readChanges(body))
        await recordActivity(client, actor, [
          { accountId, type: 'account.updated', target: accountId, details: { ...body } },
        ])
        return {
          json: await accountJson(client, redis, accountId, limits),
          afterCommit: () => announceKeyChanges(pool, redis, limits),
        }
      },
    },
    list_activity: {
      read: async (call) => {
        const { limit, after } = pageOf(call, limits)
        return { json: listJson(await listActivity(pool, call.accountId, limit + 1, after), limit) }
      },
    },
    get_usage: {
      read: async ({ accountId, query }) => ({
        json: await readUsage(pool, usageQuery(accountId, query as UsageFields, limits), limits),
      }),
    },
    get_own_usage: {
      read: async ({ accountId, caller, query }) => {
        const asked = usageQuery(accountId, query as UsageFields, limits)
        // A key reads its own usage, whichever key it asks for.
        const own = caller.kind === 'key' ? { ...asked, keyId: caller.keyId } : asked
        return { json: await readUsage(pool, own, limits) }
      },
    },
  }
}

interface ChangesBody {
  readonly name?: string
  readonly allow_retention?: boolean | null
  readonly transfer_cap_day?: string
}

/** The schema of the route has checked the types. */
function readChanges(body: Readonly<Record<string, unknown>>): AccountChanges {
  const { name, allow_retention: allowRetention, transfer_cap_day: transferCap } = body as ChangesBody
  const transferCapUnits = transferCap === undefined ? undefined : parseUsd(transferCap)
  return {
    ...(name !== undefined && { name }),
    ...(allowRetention !== undefined && { allowRetention }),
    ...(transferCapUnits !== undefined && { transferCapUnits }),
  }
}
