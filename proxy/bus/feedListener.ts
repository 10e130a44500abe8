import type { FeedListener } from './feedReader.ts'

interface Renewable {
  /** Reads it again in the background. */
  renew(): void
}

/** Updates a process's copies of control's records by the feed. */
export function feedListener({
  keys,
  kept,
  catalog,
  incidents,
}: {
  readonly keys: { drop(keyHash: string): void; clear(): void }
  /** The records in Redis. */
  readonly kept: { drop(keyHash: string): void }
  readonly catalog: Renewable
  readonly incidents: Renewable
}): FeedListener {
  return {
    onKeyChanged: (keyHash, recordDropped) => {
      keys.drop(keyHash)
      if (!recordDropped) kept.drop(keyHash)
    },
    onCatalogPublished: () => catalog.renew(),
    onStatusChanged: () => incidents.renew(),
    onGap: () => {
      keys.clear()
      catalog.renew()
      incidents.renew()
    },
  }
}
