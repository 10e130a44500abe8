import { readFileSync } from 'node:fs'
import type { Redis } from '../../contract/wire/redis.ts'
import { type Script, scriptFor, withShared } from '../../contract/wire/scripts.ts'

type ControlScriptName = 'guarded' | 'forgetOwner' | 'settleLost' | 'takeDebit' | 'giveBack' | 'payHold' | 'handOver'

/** The files of contract/wire/lua/shared/ that a script begins with. */
const SHARED: Partial<Record<ControlScriptName, readonly string[]>> = {
  settleLost: ['time', 'windows', 'counted', 'coin', 'pots', 'done'],
  takeDebit: ['time', 'windows', 'counted', 'coin', 'pots', 'server'],
  giveBack: ['time', 'windows', 'counted', 'coin', 'pots', 'texts'],
  payHold: ['time', 'windows', 'counted'],
}

/** Makes a script that only control runs callable on a connection. @returns a function of keys and arguments */
export function controlScript(redis: Redis, name: ControlScriptName): Script {
  const command = `sluice_control_${name}`
  const lua = readFileSync(new URL(`./lua/${name}.lua`, import.meta.url), 'utf8')
  redis.defineCommand(command, { lua: scriptFor(redis, withShared(SHARED[name] ?? [], lua)) })
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
