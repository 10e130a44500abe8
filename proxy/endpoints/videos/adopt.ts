import { VideoState, videoIdOf } from '../../../contract/catalog/video.ts'
import { shardOf } from '../../../contract/wire/redisKeys.ts'
import { keysOfEnding } from '../../admission/ending.ts'
import type { EndingWaiter } from '../../admission/settlements.ts'
import { settlementOf } from '../../admission/settlementText.ts'
import type { StoredVideo, VideoStore } from '../../jobs/videoStore.ts'
import type { RunServices } from '../run/services.ts'

/**
 * Finishes jobs whose clip is made and whose process did not say how the charge went: it was killed, or Redis was away.
 * The settlement stands beside the job, and delivering it once more changes nothing but tells what became of it.
 */
export class VideoAdoption {
  private readonly store: VideoStore
  private readonly services: RunServices
  private readonly underWay = new Set<string>()

  constructor(store: VideoStore, services: RunServices) {
    this.store = store
    this.services = services
  }

  /** Takes a job up in the background, unless its own process may still be at it. */
  consider({ job, state, nowMs, madeAtMs }: StoredVideo): void {
    const { settleTimeoutMs, redisTimeoutMs } = this.services.limits
    const videoId = videoIdOf(job.requestId)
    if (state !== VideoState.MADE || nowMs - madeAtMs < settleTimeoutMs + redisTimeoutMs) return
    if (this.underWay.has(videoId) || job.settlement.length === 0) return
    this.underWay.add(videoId)
    const done = (): void => void this.underWay.delete(videoId)
    const waiter: EndingWaiter = {
      onSettled: (chargeUnits) => {
        const receiptJson = chargeUnits === job.chargeUnits ? job.receiptJson : ''
        this.write({ ...job, chargeUnits, receiptJson }, VideoState.COMPLETED).finally(done)
      },
      onSettleDelayed: (givenUp) => {
        if (givenUp) this.write(job, VideoState.LOST).finally(done)
        else done()
      },
      onCrashed: (error) => {
        this.services.onCrash(error, job.requestId)
        done()
      },
    }
    const { requestId, owner, accountId, keyId, chargeUnits } = job
    const settlement = settlementOf(job.settlement)
    const ending = { requestId, owner, accountId, keyId, shard: shardOf(accountId), chargeUnits, settlement }
    this.services.settlements.end(ending, keysOfEnding(ending), waiter)
  }

  private async write(job: Parameters<VideoStore['write']>[0], state: VideoState): Promise<void> {
    await this.store.write(job, state).catch(() => undefined)
  }
}
