import { readFileSync } from 'node:fs'
import type { Redis } from '../../contract/wire/redis.ts'
import { type Script, scriptFor, sharedSource } from '../../contract/wire/scripts.ts'

type ControlScriptName = 'guarded' | 'forgetOwner' | 'settleLost' | 'takeDebit' | 'giveBack' | 'payHold' | 'handOver'

/** Those that convert between coin and units. */
const WITH_COIN: ReadonlySet<ControlScriptName> = new Set(['settleLost', 'takeDebit', 'giveBack'])

/** Makes a script that only control runs callable on a connection. @returns a function of keys and arguments */
export function controlScript(redis: Redis, name: ControlScriptName): Script {
  const command = `sluice_control_${name}`
  const lua = readFileSync(new URL(`./lua/${name}.lua`, import.meta.url), 'utf8')
  const before = WITH_COIN.has(name) ? sharedSource('coin') : ''
  redis.defineCommand(command, { lua: scriptFor(redis, before + lua) })
  const run = Reflect.get(redis, command) as (...args: unknown[]) => Promise<unknown>
  return (keys, args) => run.call(redis, keys.length, ...keys, ...args)
}

/** Throws the first error among the answers of a pipeline. */
export function answersOf(results: [error: Error | null, result: unknown][] | null): unknown[] {
  return (results ?? []).map(([error, result]) => {
    if (error !== null) throw error
    return result
  })
}
