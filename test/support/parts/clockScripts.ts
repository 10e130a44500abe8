import type { Redis } from '../../../contract/wire/redis.ts'
import { epochKey } from '../../../contract/wire/redisKeys.ts'
import { FixedArguments } from '../../../contract/wire/scriptArguments.ts'
import { type Script, type ScriptName, sourceOf } from '../../../contract/wire/scripts.ts'

const NAMES = ['lease', 'deliver', 'syncLeases', 'reportLeases', 'closeOwner'] as const

const SNAPSHOT = `
local count, lives, leases = tonumber(ARGV[1]), {}, {}
for i = 1, count do lives[i] = redis.call('HGET', KEYS[1 + i], 'bs') end
for i = count + 2, #KEYS do
  leases[#leases + 1] = redis.call('HGETALL', KEYS[i])
end
return { redis.call('HMGET', KEYS[1], 'coin', 'out'), lives, leases }
`

interface Snapshot {
  readonly coin: number
  readonly out: number
  readonly lives: readonly number[]
  /** The fields of each owner. */
  readonly leases: readonly ReadonlyMap<string, string>[]
}

/** The hash tag of a shard. */
export const shardTag = (shard: number): string => epochKey(shard).slice('epoch:'.length)

/** The scripts of leases, whose time is that of the hash `clock:{sNN}` of their shard: `s` seconds, `u` microseconds. */
export class ClockScripts {
  private readonly redis: Redis
  private readonly scripts: ReadonlyMap<ScriptName, Script>

  constructor(redis: Redis) {
    this.redis = redis
    redis.defineCommand('model_snapshot', { lua: SNAPSHOT })
    this.scripts = new Map(NAMES.map((name) => [name, define(redis, name)]))
  }

  /** The account's coin and the amount out, the units of keys over their life, and the leases of owners, as Redis has them now. */
  async snapshot(account: string, counters: readonly string[], leases: readonly string[]): Promise<Snapshot> {
    const names = [account, ...counters, ...leases]
    const run = Reflect.get(this.redis, 'model_snapshot') as (...args: unknown[]) => Promise<unknown>
    const reply = await run.call(this.redis, names.length, ...names, counters.length)
    const [[coin, out], lives, texts] = reply as [[string, string], (string | null)[], string[][]]
    return { coin: Number(coin), out: Number(out), lives: lives.map(Number), leases: texts.map(mapOf) }
  }

  of(name: (typeof NAMES)[number]): Script {
    const script = this.scripts.get(name)
    if (script === undefined) throw new Error(`no script ${name}`)
    return script
  }
}

function mapOf(fields: readonly string[]): Map<string, string> {
  const map = new Map<string, string>()
  for (let i = 0; i + 1 < fields.length; i += 2) map.set(fields[i] ?? '', fields[i + 1] ?? '')
  return map
}

function define(redis: Redis, name: ScriptName): Script {
  const clock = "redis.call('HMGET', 'clock:' .. string.match(KEYS[1], '{.-}'), 's', 'u')"
  const command = `clock_${name}`
  redis.defineCommand(command, { lua: sourceOf(name).replace("redis.call('TIME')", clock) })
  const run = Reflect.get(redis, command) as (...args: unknown[]) => Promise<unknown>
  return (keys, args) => {
    const single = (one: unknown) => (one instanceof FixedArguments ? one.texts : [one])
    const names = keys.flatMap<unknown>(single)
    return run.call(redis, names.length, ...names, ...args.flatMap<unknown>(single))
  }
}
