import { FlacSum, readStreamInfo } from './flac.ts'
import { OpusSum } from './opus.ts'
import type { Duration } from './reader.ts'
import { VorbisSum } from './vorbis.ts'

/** More bytes than an encoder puts into a frame: 65,535 samples of 8 channels and 16 bits. */
const FLAC_PACKET_BYTES_MAX = 1_048_576

/** Sums the packets of one stream after its first one. */
export interface OggCodec {
  /** @returns false when the packet shows that the stream cannot be measured */
  take(packet: Buffer): boolean
  /** @param granule the highest count of samples that a page of the stream states */
  duration(granule: number): Duration
}

/** The codec that the first packet of a stream names; undefined for codecs other than Opus, Vorbis and FLAC. */
export function oggCodec(packet: Buffer): OggCodec | undefined {
  const start = packet.toString('latin1', 0, 8)
  if (start === 'OpusHead') return OpusSum.of(packet)
  if (start.startsWith('\x01vorbis')) return VorbisSum.of(packet)
  if (start.startsWith('\x7fFLAC')) return OggFlac.of(packet)
  // An index of other streams, without its own sound.
  return start === 'fishead\0' ? SILENT : undefined
}

const SILENT: OggCodec = { take: () => true, duration: () => ({ seconds: 0, secondsMax: 0 }) }

/** FLAC in Ogg (RFC 9639 section 10.1): a frame is a packet, but decoders also play those that share one. */
class OggFlac implements OggCodec {
  private readonly sum: FlacSum
  private bytes = 0

  private constructor(sum: FlacSum) {
    this.sum = sum
  }

  static of(packet: Buffer): OggFlac | undefined {
    const stream = packet.toString('latin1', 9, 13) === 'fLaC' ? readStreamInfo(packet, 13) : null
    return stream === null ? undefined : new OggFlac(new FlacSum(stream))
  }

  take(packet: Buffer): boolean {
    // Packets that begin otherwise are metadata, such as a picture.
    if (packet[0] !== 0xff) return true
    if (packet.length > FLAC_PACKET_BYTES_MAX) return false
    this.bytes += packet.length
    for (let at = packet.indexOf(0xff); at >= 0; ) at = packet.indexOf(0xff, at + this.sum.take(packet, at))
    return true
  }

  duration(): Duration {
    return this.sum.duration(this.bytes)
  }
}
