import { GatewayError } from '../../contract/errors/errors.ts'
import type { ServerLimits } from './limits.ts'

const LARGE_BYTES = 1_048_576
const LARGE_RETRY_SECONDS = 1
const UPLOAD_RETRY_SECONDS = 2

/** The bounds of bodies from one kind of sender, each and in total. */
export interface ShareBounds {
  readonly bytesMax: number
  readonly uploadBytesMax: number
  readonly bytesOpenMax: number
  readonly uploadBytesOpenMax: number
  /** Bodies over 1 MiB that are on their way in. */
  readonly largeMax: number
  /** Bodies that take longer to arrive than a body usually does. */
  readonly slowMax: number
}

/** Memory and places for the bodies of one kind of sender, so that one kind cannot exhaust those of the other. */
export class BodyShare {
  readonly bounds: ShareBounds
  private bytesOpen = 0
  private largeOpen = 0
  private slowOpen = 0
  private uploadBytesOpen = 0

  constructor(bounds: ShareBounds) {
    this.bounds = bounds
  }

  /** The most bytes that one body may have. */
  bytesMax(upload: boolean): number {
    return upload ? this.bounds.uploadBytesMax : this.bounds.bytesMax
  }

  /**
   * Books memory for a body that grows.
   * @returns why it may not grow; nothing is booked then
   */
  grow(fromBytes: number, toBytes: number, upload: boolean): GatewayError | undefined {
    if (upload) return this.growUpload(toBytes - fromBytes)
    if (this.bytesOpen - fromBytes + toBytes > this.bounds.bytesOpenMax) {
      return new GatewayError('too_many_requests_open')
    }
    if (isLarge(toBytes) && !isLarge(fromBytes)) {
      if (this.largeOpen >= this.bounds.largeMax) {
        return new GatewayError('too_many_uploads', { retryAfterSeconds: LARGE_RETRY_SECONDS })
      }
      this.largeOpen++
    }
    this.bytesOpen += toBytes - fromBytes
    return undefined
  }

  /** Gives back the memory of a body that arrived or was dropped, or of an upload that is not needed any more. */
  release(bytes: number, upload: boolean): void {
    if (upload) {
      this.uploadBytesOpen -= bytes
      return
    }
    this.bytesOpen -= bytes
    if (isLarge(bytes)) this.largeOpen--
  }

  /** Takes a place for a slow body. @returns false when all are taken */
  takeSlow(): boolean {
    if (this.slowOpen >= this.bounds.slowMax) return false
    this.slowOpen++
    return true
  }

  releaseSlow(): void {
    this.slowOpen--
  }

  private growUpload(bytes: number): GatewayError | undefined {
    if (this.uploadBytesOpen + bytes > this.bounds.uploadBytesOpenMax) {
      return new GatewayError('too_many_uploads', { retryAfterSeconds: UPLOAD_RETRY_SECONDS })
    }
    this.uploadBytesOpen += bytes
    return undefined
  }
}

/** The share of senders with a valid credential. */
export function customerShare(limits: ServerLimits): BodyShare {
  const { bodyBytesMax, jsonBodyBytesMax } = limits
  return new BodyShare({
    bytesMax: Math.min(bodyBytesMax, jsonBodyBytesMax),
    uploadBytesMax: bodyBytesMax,
    bytesOpenMax: limits.bodyBytesOpenMax,
    uploadBytesOpenMax: limits.uploadBytesOpenMax,
    largeMax: limits.largeBodiesMax,
    slowMax: limits.slowBodiesMax,
  })
}

/** The share of all other senders. */
export function strangerShare(limits: ServerLimits): BodyShare {
  const { bodyBytesMax, jsonBodyBytesMax, strangerBodyBytesMax, strangerUploadBytesMax } = limits
  return new BodyShare({
    bytesMax: Math.min(bodyBytesMax, jsonBodyBytesMax, strangerBodyBytesMax),
    uploadBytesMax: Math.min(bodyBytesMax, strangerUploadBytesMax),
    bytesOpenMax: limits.strangerBodyBytesOpenMax,
    uploadBytesOpenMax: limits.strangerUploadBytesOpenMax,
    largeMax: limits.largeBodiesMax,
    slowMax: limits.strangerSlowBodiesMax,
  })
}

function isLarge(bytes: number): boolean {
  return bytes > LARGE_BYTES
}
