import type { Duration } from './reader.ts'

const RATE = 48_000
const HEAD_BYTES = 19
/** A packet of more is not valid (RFC 6716 section 3.4). */
const PACKET_SAMPLES_MAX = 5_760
const SILK = [480, 960, 1_920, 2_880]
const HYBRID = [480, 960]
const CELT = [120, 240, 480, 960]

/** Sums the packets of an Opus stream (RFC 7845), whose first two bytes state their length (RFC 6716 section 3.1). */
export class OpusSum {
  private readonly preSkip: number
  private samples = 0
  private tagsSeen = false

  private constructor(preSkip: number) {
    this.preSkip = preSkip
  }

  static of(head: Buffer): OpusSum | undefined {
    return head.length < HEAD_BYTES ? undefined : new OpusSum(head.readUInt16LE(10))
  }

  /** Of a container that has no packet of tags. @param preSkip samples at the beginning that are not to be played */
  static ofPackets(preSkip: number): OpusSum {
    const sum = new OpusSum(preSkip)
    sum.tagsSeen = true
    return sum
  }

  take(packet: Buffer): boolean {
    if (this.tagsSeen) this.samples += samplesOf(packet)
    this.tagsSeen = true
    return true
  }

  duration(granule: number): Duration {
    // The last page may declare that less than its whole packets is to be played.
    const surplus = this.samples - granule
    const played = granule > 0 && surplus >= 0 && surplus <= PACKET_SAMPLES_MAX ? granule : this.samples
    return { seconds: Math.max(0, played - this.preSkip) / RATE, secondsMax: this.samples / RATE }
  }
}

function samplesOf(packet: Buffer): number {
  if (packet.length === 0) return 0
  const config = (packet[0] as number) >> 3
  const frame =
    config < 12
      ? (SILK[config & 3] as number)
      : config < 16
        ? (HYBRID[config & 1] as number)
        : (CELT[config & 3] as number)
  const code = (packet[0] as number) & 3
  const frames = code === 0 ? 1 : code < 3 ? 2 : packet.length > 1 ? (packet[1] as number) & 63 : 0
  return Math.min(PACKET_SAMPLES_MAX, frame * frames)
}
