import { readFileSync } from 'node:fs'
import { clusterOf, type Redis } from './redis.ts'
import { ByteText, FixedArguments } from './scriptArguments.ts'
import { COUNTED_LUA, WINDOWS_LUA, withConstants } from './windowsLua.ts'

export type ScriptName =
  | 'hold'
  | 'settle'
  | 'credit'
  | 'sweepGrant'
  | 'lease'
  | 'deliver'
  | 'syncLeases'
  | 'reportLeases'
  | 'closeOwner'
  | 'heartbeat'
  | 'serverOf'
  | 'readKeyRecords'
  | 'keepKeyRecords'
  | 'videoOpen'
  | 'videoWrite'
  | 'videoRead'
  | 'videoDrop'
  | 'quota'

/** Codes that hold.lua answers with, besides those of caps; see `metCap`. */
export const HoldCode = {
  OK: 0,
  BALANCE: 1,
  RATE: 6,
  NO_ACCOUNT: 7,
  DUPLICATE: 8,
  CLOSED: 9,
  BACKLOG: 10,
} as const

/** Codes that the scripts of leases answer a whole call with; see lua/shared/lease.lua. */
export const LeaseCode = {
  OK: 0,
  /** Admission is closed. */
  CLOSED: 9,
  /** A later call of this owner was seen, or other endings are expected. */
  STALE: 20,
  /** Admission was loaded again: the owner has to report its leases. */
  UNKNOWN_EPOCH: 21,
  /** The owner was taken for dead, and its leases were taken back. */
  OWNER_CLOSED: 22,
} as const

/** Codes that settle.lua answers with. */
export const SettleCode = { SETTLED: 0, ALREADY_SETTLED: 1, ALREADY_VOIDED: 2, UNKNOWN: 3, CLOSED: 4 } as const

/** Codes that quota.lua answers with: for a request, why a quota has no room for it; `STALE` for the call. */
export const QuotaCode = { OK: 0, REQUESTS: 1, TOKENS: 2, PARALLEL: 3, TOO_LARGE: 4, STALE: 20 } as const

/** Codes that videoOpen.lua and videoWrite.lua answer with. */
export const VideoCode = { OK: 0, FULL: 1, NO_HOLD: 2, OVERTAKEN: 3 } as const

export type ScriptKey = string | FixedArguments
export type ScriptArgument = string | number | Buffer | ByteText | FixedArguments

/** A Lua script that is sent as EVALSHA, and as EVAL where the server does not know it yet. */
export type Script = (keys: ScriptKey[], args: ScriptArgument[]) => Promise<unknown>

/** The parts of lua/shared/ that a script begins with. */
const SHARED: Partial<Record<ScriptName, readonly string[]>> = {
  hold: ['time', 'windows', 'coin', 'pots'],
  settle: ['time', 'windows', 'counted', 'coin', 'texts', 'done'],
  lease: ['time', 'windows', 'counted', 'coin', 'pots', 'texts', 'lease'],
  deliver: ['time', 'windows', 'counted', 'coin', 'pots', 'texts', 'lease', 'done'],
  syncLeases: ['time', 'windows', 'counted', 'coin', 'pots', 'texts', 'lease'],
  reportLeases: ['time', 'windows', 'counted', 'coin', 'pots', 'texts', 'lease'],
  closeOwner: ['time', 'windows', 'counted', 'coin', 'pots', 'texts', 'lease'],
  serverOf: ['server'],
  quota: ['time'],
}

const sources = new Map<ScriptName, string>()

/** The Lua text that scripts share. @param name of a file of lua/shared, or `windows` or `counted` for the text made of the windows */
export function sharedSource(name: string): string {
  if (name === 'windows') return WINDOWS_LUA
  if (name === 'counted') return COUNTED_LUA
  return readFileSync(new URL(`./lua/shared/${name}.lua`, import.meta.url), 'utf8')
}

/** A script with the shared functions that it needs in front, in their order. */
export function withShared(names: readonly string[], own: string): string {
  return withConstants(names.map(sharedSource).join('') + own)
}

/** The Lua text of a script. */
export function sourceOf(name: ScriptName): string {
  let source = sources.get(name)
  if (source === undefined) {
    const own = readFileSync(new URL(`./lua/${name}.lua`, import.meta.url), 'utf8')
    source = withShared(SHARED[name] ?? [], own)
    sources.set(name, source)
  }
  return source
}

/**
 * Fails before anything is done while the slot of the keys moves to another node of a cluster: a script that began with
 * some of its keys here and some there could end halfway, because a key that does not exist may be on the other node.
 * The old owner refuses any key that it has not, the new one only several of which it lacks some, so two keys are asked for.
 * `contract/wire/redis.ts` has such a call repeated.
 */
const UNLESS_MOVING = `local none = (string.find(KEYS[1], '{', 1, true) and KEYS[1] or '{' .. KEYS[1] .. '}') .. ':none'
redis.call('EXISTS', none, none .. '2')
`

/** The text of a script as it is sent on a connection. */
export function scriptFor(redis: Redis, lua: string): string {
  return clusterOf(redis) === undefined ? lua : UNLESS_MOVING + lua
}

/**
 * Makes a script of `lua/` callable on a connection.
 * @returns a function of keys and arguments; it rejects with the Redis error
 */
export function defineScript(redis: Redis, name: ScriptName): Script {
  const command = `sluice_${name}`
  redis.defineCommand(command, { lua: scriptFor(redis, sourceOf(name)) })
  const run = Reflect.get(redis, command) as (...args: unknown[]) => Promise<unknown>
  return (keys, args) => runOnce(redis, run, keys, args)
}

/** Like `defineScript`, but texts of the answer are buffers, so that binary ones stay intact. */
export function defineBinaryScript(redis: Redis, name: ScriptName): Script {
  defineScript(redis, name)
  const run = Reflect.get(redis, `sluice_${name}Buffer`) as (...args: unknown[]) => Promise<unknown>
  return (keys, args) => runOnce(redis, run, keys, args)
}

function runOnce(
  redis: Redis,
  run: (...args: unknown[]) => Promise<unknown>,
  keys: readonly ScriptKey[],
  args: readonly ScriptArgument[],
): Promise<unknown> {
  // Array.flatMap takes several times as long.
  const sent: Array<string | number | Buffer> = [0]
  for (const key of keys) addTo(sent, key)
  sent[0] = sent.length - 1
  for (const argument of args) addTo(sent, argument)
  return run.apply(redis, sent)
}

function addTo(sent: Array<string | number | Buffer>, argument: ScriptArgument): void {
  if (argument instanceof ByteText) sent.push(Buffer.from(argument.text, 'latin1'))
  else if (argument instanceof FixedArguments) for (const text of argument.texts) sent.push(text)
  else sent.push(argument)
}
