/** A stream entry id in its two parts; https://redis.io/docs/latest/develop/data-types/streams/#entry-ids */
export interface StreamId {
  readonly ms: number
  readonly seq: number
}

/** @param id such as "1700000000000-0" */
export function parseStreamId(id: string): StreamId {
  const dash = id.indexOf('-')
  return { ms: Number(id.slice(0, dash)), seq: Number(id.slice(dash + 1)) }
}

/** @returns below zero when `a` is older than `b`, zero when they are the same */
export function compareStreamIds(a: StreamId, b: StreamId): number {
  return a.ms - b.ms || a.seq - b.seq
}
