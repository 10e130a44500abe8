import type { UploadLimits } from '../limits.ts'
import { type OggCodec, oggCodec } from './oggCodecs.ts'
import { type OggPage, oggPageAt } from './oggPages.ts'
import { type AudioReader, type Duration, PLACES_PER_STEP } from './reader.ts'

/** Bytes of pages that weigh as much as a place. */
const BYTES_PER_PLACE = 64

/** Measures an Ogg file by the packets on its pages; all its streams count as if they were played one after the other. */
export function* readOgg(file: Buffer, limits: UploadLimits): AudioReader {
  const { oggLostPagesMax, oggDamagedPagesMax, audioTracksMax } = limits
  const streams = new Map<number, OggStream>()
  const ended: OggStream[] = []
  let places = 0
  let lost = 0
  let damaged = 0
  for (let at = 0; at >= 0; ) {
    const page = oggPageAt(file, at)
    places += page === null ? 1 : 1 + (page.end - at) / BYTES_PER_PLACE
    if (places >= PLACES_PER_STEP) {
      places = 0
      yield
    }
    if (page === null) {
      if (++lost > oggLostPagesMax) return null
      at = file.indexOf('OggS', at + 1, 'latin1')
      continue
    }
    const stream = streamOf(page, streams, ended, audioTracksMax)
    if (stream === null || !stream.take(file, page)) return null
    if (!page.sound && ++damaged > oggDamagedPagesMax) return null
    at = page.sound ? page.end : file.indexOf('OggS', at + 1, 'latin1')
  }
  return sumOf([...streams.values(), ...ended])
}

function streamOf(
  page: OggPage,
  streams: Map<number, OggStream>,
  ended: OggStream[],
  streamsMax: number,
): OggStream | null {
  const known = streams.get(page.serial)
  // A second first page of a number begins another stream, which files that were joined have.
  if (known !== undefined && !(page.first && known.hasPackets)) return known
  if (streams.size + ended.length >= streamsMax) return null
  if (known !== undefined) ended.push(known)
  const stream = new OggStream()
  streams.set(page.serial, stream)
  return stream
}

function sumOf(streams: readonly OggStream[]): Duration | null {
  let seconds = 0
  let secondsMax = 0
  for (const stream of streams) {
    const duration = stream.duration()
    seconds += duration.seconds
    secondsMax += duration.secondsMax
  }
  return { seconds, secondsMax }
}

/** One logical stream: puts its packets together and has its codec add them up. */
class OggStream {
  private codec: OggCodec | undefined
  private pieces: Buffer[] = []
  private granule = 0

  /** @returns false when the stream is of a codec that is not known */
  take(file: Buffer, page: OggPage): boolean {
    // The previous page promised a continuation that is missing: a player may take the part for a packet.
    if (!page.continued && this.pieces.length > 0 && !this.endPacket()) return false
    let start = page.dataAt
    let place = page.dataAt
    for (const length of page.lacing) {
      place += length
      if (length === 255) continue
      this.pieces.push(file.subarray(start, place))
      start = place
      if (!this.endPacket()) return false
    }
    if (place > start) this.pieces.push(file.subarray(start, place))
    if (page.granule > this.granule) this.granule = page.granule
    return true
  }

  get hasPackets(): boolean {
    return this.codec !== undefined
  }

  duration(): Duration {
    return this.codec?.duration(this.granule) ?? { seconds: 0, secondsMax: 0 }
  }

  private endPacket(): boolean {
    const [first] = this.pieces
    const packet = first !== undefined && this.pieces.length === 1 ? first : Buffer.concat(this.pieces)
    this.pieces = []
    if (this.codec !== undefined) return this.codec.take(packet)
    this.codec = oggCodec(packet)
    return this.codec !== undefined
  }
}
