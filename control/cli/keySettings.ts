import { CONTRACT_LIMITS } from '../../contract/limits/limits.ts'
import { readTagsHeader } from '../../contract/money/tags.ts'
import { bySpan, oneOf, WINDOWS, type Window } from '../../contract/money/windows.ts'
import { givenCaps, type KeySettings, soldTools, unknownModels, unknownTools } from '../identity/keys/keys.ts'
import type { Queryable } from '../runtime/db/pool.ts'
import { type Arguments, flag, isSet, UsageError } from './command.ts'
import { amountOf, timeOf } from './values.ts'

const CAP_FLAGS = Object.fromEntries(
  WINDOWS.map((window) => {
    const help = `most that may be spent in ${oneOf(window)}; "none" removes the cap`
    return [`cap-${window}`, { value: 'USD', help }]
  }),
) as Record<`cap-${Window}`, { value: string; help: string }>

/** Flags for the settings of a key. */
export const SETTING_FLAGS = {
  name: { value: 'TEXT', help: 'a name for people' },
  ...CAP_FLAGS,
  budget: { value: 'USD', help: 'most that may be spent in the life of the key; "none" removes it' },
  model: { value: 'ID', help: 'allow only this model; repeatable; "any" allows all', repeatable: true },
  tool: { value: 'ID', help: 'allow only this tool; repeatable; "any" allows all', repeatable: true },
  rpm: { value: 'N', help: 'rate limit, in requests per minute; 0 restores the default' },
  tpm: { value: 'N', help: 'tokens per minute; 0 removes the limit' },
  parallel: { value: 'N', help: 'requests in flight; 0 removes the limit' },
  expires: { value: 'TIME', help: 'when the key expires, such as 2027-01-31T12:00:00Z; "never" removes it' },
  tags: { value: 'NAME=VALUE,...', help: 'tags of requests that do not say otherwise; "none" removes them' },
  'no-logs': { help: 'switch no-logs mode on' },
  logs: { help: 'switch no-logs mode off' },
  'private-tier': { help: 'put the key on the private tier' },
  'standard-tier': { help: 'put it back on the standard tier' },
  'capture-content': { help: 'let traces have the content of requests and answers, where the proxy captures any' },
  'no-capture-content': { help: 'keep it out of traces' },
  'allow-retention': { help: 'allow providers and tools that retain data' },
  'refuse-retention': { help: 'refuse them, unless a request allows them' },
  'inherit-retention': { help: "use the account's setting" },
  transfers: { help: 'let the key move coin: fund agents and pay from them' },
  'no-transfers': { help: 'do not let the key move coin' },
  platform: { help: 'let the key make sub-keys' },
  'no-platform': { help: 'do not let the key make sub-keys' },
}

/** True or false by the one of two flags that is given, undefined without a flag. @throws UsageError for both */
export function switchOf(args: Arguments, on: string, off: string): boolean | undefined {
  if (isSet(args, on) && isSet(args, off)) throw new UsageError(`--${on} and --${off} contradict each other`)
  return isSet(args, on) ? true : isSet(args, off) ? false : undefined
}

/** The opt-in to retention; null for not decided. @throws UsageError for flags that contradict each other */
export function retentionOf(args: Arguments): boolean | null | undefined {
  const decided = switchOf(args, 'allow-retention', 'refuse-retention')
  if (!isSet(args, 'inherit-retention')) return decided
  if (decided === undefined) return null
  throw new UsageError('--inherit-retention contradicts --allow-retention and --refuse-retention')
}

function capOf(args: Arguments, name: string): number | null | undefined {
  const text = flag(args, name)
  if (text === undefined) return undefined
  return text === 'none' ? null : amountOf(name, text)
}

/** A limit; 0 removes it. @throws UsageError for anything but a whole number */
export function countOf(args: Arguments, name: string, what: string): number | undefined {
  const text = flag(args, name)
  if (text === undefined) return undefined
  if (/^\d{1,9}$/.test(text)) return Number(text)
  throw new UsageError(`--${name} must be a whole number of ${what}, not "${text}"`)
}

function expiryOf(args: Arguments): number | null | undefined {
  const text = flag(args, 'expires')
  if (text === undefined) return undefined
  return text === 'never' ? null : timeOf('expires', text)
}

/** Models that were on a sheet once; a typing error would lock a key out of everything. */
async function modelsOf(args: Arguments, db: Queryable): Promise<string[] | undefined> {
  const given = args.flags.get('model')
  if (given === undefined) return undefined
  if (given.includes('any')) return []
  const [unknown] = await unknownModels(db, given)
  if (unknown === undefined) return [...given]
  const known = await db.query<{ id: string }>('SELECT id FROM catalog_models ORDER BY id')
  const ids = known.rows.map((row) => row.id)
  throw new UsageError(`there is no model "${unknown}"; models: ${ids.join(', ') || 'none yet'}`)
}

async function toolsOf(args: Arguments, db: Queryable): Promise<string[] | undefined> {
  const given = args.flags.get('tool')
  if (given === undefined) return undefined
  if (given.includes('any')) return []
  const [unknown] = await unknownTools(db, given)
  if (unknown === undefined) return [...given]
  throw new UsageError(`there is no tool "${unknown}"; tools: ${(await soldTools(db)).join(', ') || 'none yet'}`)
}

/** Tags as the header of requests has them. @throws UsageError */
function tagsOf(args: Arguments): string | undefined {
  const text = flag(args, 'tags')
  if (text === undefined) return undefined
  if (text === 'none') return ''
  try {
    return readTagsHeader(text, '--tags', CONTRACT_LIMITS)
  } catch (error) {
    throw new UsageError((error as Error).message)
  }
}

/** The given settings; the others are absent, so that an update leaves them unchanged. */
export async function settingsOf(args: Arguments, db: Queryable): Promise<KeySettings> {
  const settings = {
    name: flag(args, 'name'),
    caps: givenCaps(bySpan((span) => capOf(args, span === 'life' ? 'budget' : `cap-${span}`))),
    models: await modelsOf(args, db),
    tools: await toolsOf(args, db),
    requestsPerMinute: countOf(args, 'rpm', 'requests per minute'),
    tokensPerMinute: countOf(args, 'tpm', 'tokens per minute'),
    parallel: countOf(args, 'parallel', 'requests in flight'),
    expiresAtMs: expiryOf(args),
    noLogs: switchOf(args, 'no-logs', 'logs'),
    privateTier: switchOf(args, 'private-tier', 'standard-tier'),
    captureContent: switchOf(args, 'capture-content', 'no-capture-content'),
    allowRetention: retentionOf(args),
    canTransfer: switchOf(args, 'transfers', 'no-transfers'),
    isPlatform: switchOf(args, 'platform', 'no-platform'),
    tags: tagsOf(args),
  }
  return Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined))
}
