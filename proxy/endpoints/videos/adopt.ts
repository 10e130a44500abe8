import { VideoState, videoIdOf } from '../../../contract/catalog/video.ts'
import { GatewayError } from '../../../contract/errors/errors.ts'
import type { RpcClient } from '../../bus/rpcClient.ts'
import type { RunServices } from '../run/services.ts'
import type { StoredVideo, VideoStore } from './videoStore.ts'

/** The members of a receipt that describe how a request ended. */
interface ReceiptEnd {
  readonly status: string
  readonly cost: { readonly units: string }
}

/**
 * Finishes jobs whose clip is made and whose process did not record the charge, because it was killed or Redis was down.
 * Their endings are delivered independently, from the journal or from the settlement that is stored with the job; the book
 * knows the outcome.
 */
export class VideoAdoption {
  private readonly store: VideoStore
  private readonly services: RunServices
  private readonly rpc: Pick<RpcClient, 'call'>
  private readonly underWay = new Set<string>()

  constructor(store: VideoStore, services: RunServices, rpc: Pick<RpcClient, 'call'>) {
    this.store = store
    this.services = services
    this.rpc = rpc
  }

  /** Takes a job up in the background, unless its own process may still be at it. */
  consider(stored: StoredVideo): void {
    const { settleTimeoutMs, redisTimeoutMs } = this.services.limits
    const { job, state, nowMs, madeAtMs } = stored
    const videoId = videoIdOf(job.requestId)
    if (state !== VideoState.MADE || nowMs - madeAtMs < settleTimeoutMs + redisTimeoutMs) return
    if (this.underWay.has(videoId)) return
    this.underWay.add(videoId)
    this.finish(stored)
      .catch((error: unknown) => {
        // The next read asks again.
        if (!(error instanceof GatewayError)) this.services.onCrash(error, job.requestId)
      })
      .finally(() => this.underWay.delete(videoId))
  }

  /** @throws GatewayError while control does not know or does not answer */
  private async finish({ job }: StoredVideo): Promise<void> {
    const { requestId, keyId } = job
    const receipt = JSON.parse(await this.rpc.call('get_receipt', { requestId, keyId })) as ReceiptEnd
    const chargeUnits = Number(receipt.cost.units)
    const receiptJson = chargeUnits === job.chargeUnits ? job.receiptJson : ''
    const [ended, state] =
      receipt.status === 'ok' ? [{ ...job, chargeUnits, receiptJson }, VideoState.COMPLETED] : [job, VideoState.LOST]
    await this.store.write(ended, state).catch(() => undefined)
  }
}
