import type { Redis } from '../../contract/wire/redis.ts'
import { epochKey, loadGuardKey } from '../../contract/wire/redisKeys.ts'
import type { Script } from '../../contract/wire/scripts.ts'
import { controlScript } from './scripts.ts'

/** One write: command, the key, its arguments. */
export type Write = [command: string, key: string, ...args: (string | number)[]]

/** Another control began to load the same shard later; what this one still wanted to write is outdated. */
export class OutdatedLoadError extends Error {
  override name = 'OutdatedLoadError'
}

/** Redis was emptied while a shard was loaded, so that it lacks what was written before; the loading has to begin again. */
export class LostShardError extends Error {
  override name = 'LostShardError'
}

const LOST = -2

/** Writes to the shards in the name of one loading; refused once a later loading has begun, or the shard was lost. */
export class ShardWriter {
  private readonly script: Script
  /** Grows with every loading, over all controls. */
  readonly loadNumber: number

  /** @param loadNumber greater than that of every loading before */
  constructor(redis: Redis, loadNumber: number) {
    this.script = controlScript(redis, 'guarded')
    this.loadNumber = loadNumber
  }

  /**
   * Runs writes in one step, after `close`.
   * @param guard the least load number that the shard must have
   * @returns Redis's time in milliseconds
   * @throws OutdatedLoadError, or LostShardError; nothing was written then
   */
  async write(shard: number, writes: readonly Write[], guard: number = this.loadNumber): Promise<number> {
    const keys = [...new Set(writes.map(([, key]) => key))]
    const places = new Map(keys.map((key, i) => [key, i + 2]))
    // An empty array would become an empty JSON object of Lua's cjson, which iterates the same.
    const encoded = JSON.stringify(
      writes.map(([command, key, ...args]) => [command, places.get(key), ...args.map(String)]),
    )
    const timeMs = Number(await this.script([loadGuardKey(shard), ...keys], [this.loadNumber, encoded, guard]))
    if (timeMs === LOST) throw new LostShardError(`Redis lost shard ${shard} while it was loaded`)
    if (timeMs < 0) throw new OutdatedLoadError(`a later loading of shard ${shard} has begun`)
    return timeMs
  }

  /**
   * Closes admission: no hold is taken and none ended until `open`.
   * @param after the number of the loading that this one continues, if it does
   * @returns Redis's time in milliseconds
   */
  close(shard: number, after = 0): Promise<number> {
    return this.write(shard, [['DEL', epochKey(shard)]], after)
  }

  async open(shard: number, epoch: string): Promise<void> {
    await this.write(shard, [['SET', epochKey(shard), epoch]])
  }
}
