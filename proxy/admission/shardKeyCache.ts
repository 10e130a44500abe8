import { type ShardKeys, shardKeys } from '../../contract/wire/redisKeys.ts'

/** Keys of the shards, kept for one owner: nearly all holds of a process are its own. */
export class ShardKeyCache {
  private owner = ''
  private shards: ShardKeys[] = []

  of(owner: string, shard: number): ShardKeys {
    if (owner !== this.owner) {
      this.owner = owner
      this.shards = []
    }
    this.shards[shard] ??= shardKeys(shard, owner)
    return this.shards[shard]
  }
}
