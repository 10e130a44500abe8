import { parseTime } from '../../../contract/api/time.ts'
import { invalidRequest } from '../../../contract/errors/errors.ts'
import { type TagLimits, tagsText } from '../../../contract/money/tags.ts'
import { parseUsd } from '../../../contract/money/units.ts'
import { bySpan, type SpendingCaps, type Window } from '../../../contract/money/windows.ts'
import type { Queryable } from '../../runtime/db/pool.ts'
import { givenCaps, type KeySettings, unknownModels, unknownTools } from './keys.ts'

/** The body of a request that makes or changes a key, as its schema has let it pass. */
interface SettingsBody {
  readonly name?: string
  readonly paused?: boolean
  readonly caps?: Readonly<Partial<Record<Window, string | null>>>
  readonly budget?: string | null
  readonly models?: readonly string[]
  readonly tools?: readonly string[]
  readonly no_logs?: boolean
  readonly private_tier?: boolean
  readonly capture_content?: boolean
  readonly allow_retention?: boolean | null
  readonly can_transfer?: boolean
  readonly requests_per_minute?: number | null
  readonly tokens_per_minute?: number | null
  readonly parallel?: number | null
  readonly expires_at?: string | null
  readonly platform?: boolean
  readonly tags?: Readonly<Record<string, string>>
}

/** Units of a cap; null removes it, undefined leaves it unchanged. The schema has checked the form. */
function capUnits(usd: string | null | undefined): number | null | undefined {
  return typeof usd === 'string' ? parseUsd(usd) : usd
}

/** The caps that a body gives; undefined when it gives none. */
function capsIn(body: SettingsBody): Partial<SpendingCaps> | undefined {
  return givenCaps(bySpan((span) => capUnits(span === 'life' ? body.budget : body.caps?.[span])))
}

function zeroForNone(limit: number | null | undefined): number | undefined {
  return limit === null ? 0 : limit
}

function expiryMs(text: string | null | undefined): number | null | undefined {
  if (typeof text !== 'string') return text
  const ms = parseTime(text)
  if (ms === undefined || ms <= Date.now()) throw invalidRequest('expires_at must be a time to come.', 'expires_at')
  return ms
}

/** An unknown id would lock a key out of everything. @throws GatewayError */
function refuseUnknown(field: string, ids: readonly string[], [unknown]: readonly string[], kind: string): void {
  if (unknown === undefined) return
  const param = `${field}[${ids.indexOf(unknown)}]`
  throw invalidRequest(`${param} must be ${kind}, not ${unknown}.`, param)
}

/** The settings in a body. @throws GatewayError for a time in the past, for unknown models or tools, and for tags that are refused */
export async function readSettings(
  db: Queryable,
  fields: Readonly<Record<string, unknown>>,
  limits: TagLimits,
): Promise<KeySettings> {
  const body = fields as SettingsBody
  const { models = [], tools = [] } = body
  refuseUnknown('models', models, await unknownModels(db, models), 'a model id from GET /v1/models')
  refuseUnknown('tools', tools, await unknownTools(db, tools), 'a tool id from GET /v1/tools')
  const settings = {
    name: body.name,
    paused: body.paused,
    caps: capsIn(body),
    models: body.models,
    tools: body.tools,
    noLogs: body.no_logs,
    privateTier: body.private_tier,
    captureContent: body.capture_content,
    allowRetention: body.allow_retention,
    canTransfer: body.can_transfer,
    requestsPerMinute: zeroForNone(body.requests_per_minute),
    tokensPerMinute: zeroForNone(body.tokens_per_minute),
    parallel: zeroForNone(body.parallel),
    expiresAtMs: expiryMs(body.expires_at),
    isPlatform: body.platform,
    tags: body.tags === undefined ? undefined : tagsText(Object.entries(body.tags), 'tags', limits),
  }
  return Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined))
}
