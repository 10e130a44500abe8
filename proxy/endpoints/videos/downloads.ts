import type { VideoLimits } from './limits.ts'

/** Clips that are on their way to clients, bounded for the process and for each key. */
export class Downloads {
  private readonly limits: Pick<VideoLimits, 'videoDownloadsMax' | 'videoDownloadsPerKeyMax'>
  private readonly byKey = new Map<string, number>()
  private open = 0

  constructor(limits: Pick<VideoLimits, 'videoDownloadsMax' | 'videoDownloadsPerKeyMax'>) {
    this.limits = limits
  }

  /** @param keyId the owner of the job. @returns the function to call at the end; null when too many downloads are open */
  begin(keyId: string): (() => void) | null {
    const own = this.byKey.get(keyId) ?? 0
    if (this.open >= this.limits.videoDownloadsMax || own >= this.limits.videoDownloadsPerKeyMax) return null
    this.open++
    this.byKey.set(keyId, own + 1)
    return () => {
      this.open--
      const left = (this.byKey.get(keyId) ?? 1) - 1
      if (left === 0) this.byKey.delete(keyId)
      else this.byKey.set(keyId, left)
    }
  }
}
