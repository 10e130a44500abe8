import { type EbmlElement, elementAt, uintOf } from './ebml.ts'
import type { AudioReader } from './reader.ts'
import { Unmeasured } from './soundTrack.ts'
import { WebmSegment } from './webmSegment.ts'
import { partsOf } from './webmTracks.ts'

const DOCUMENT_TYPE = 0x4282
const ID_BYTES_MAX = 0x42f2
const SIZE_BYTES_MAX = 0x42f3
const HEAD = 0x1a45dfa3
const SEGMENT = 0x18538067

/**
 * Measures a WebM or Matroska file (RFC 9559), also one whose sizes were not known when it was written, by the packets of
 * its tracks of sound. Its stated lengths only raise the bound. A player plays one of several tracks.
 */
export function* readWebm(file: Buffer): AudioReader {
  try {
    const head = elementAt(file, 0, file.length)
    if (head?.id !== HEAD || head.isOpen || head.isCut || !isWebm(file, head)) return null
    const segment = elementAt(file, head.end, file.length)
    if (segment === null || segment.id !== SEGMENT || (!segment.isOpen && segment.end < file.length)) return null
    const reader = new WebmSegment(file)
    yield* reader.take(segment)
    yield* reader.checkHidden()
    return reader.duration()
  } catch (error) {
    if (error instanceof Unmeasured) return null
    throw error
  }
}

function isWebm(file: Buffer, head: EbmlElement): boolean {
  return partsOf(file, head).every((part) => {
    if (part.id === ID_BYTES_MAX) return uintOf(file, part) === 4
    if (part.id === SIZE_BYTES_MAX) return uintOf(file, part) <= 8
    return part.id !== DOCUMENT_TYPE || /^(?:webm|matroska)\0*$/.test(file.toString('latin1', part.dataAt, part.end))
  })
}
