import type { UploadLimits } from '../limits.ts'
import { holdsCodedSound } from './codedSound.ts'
import type { AudioReader } from './reader.ts'

const RIFF_HEAD_BYTES = 12
const CHUNK_HEAD_BYTES = 8
const FORMAT_BYTES = 16
const EXTENSIBLE = 0xfffe
/** PCM, IEEE float, A-law and mu-law: formats with the same number of bytes for every sample. */
const PLAIN_FORMATS: ReadonlySet<number> = new Set([1, 3, 6, 7])
const PCM = 1
const ACT_ZEROS_AT = 44
const ACT_MARK_AT = 256
const ACT_MARK = 0x84

interface WavFormat {
  readonly tag: number
  readonly rate: number
  readonly bytesPerSample: number
}

/**
 * Measures a WAV file (RIFF, or RF64 as in EBU Tech 3306). The content of its data chunks is sound; a chunk whose size is
 * unknown or goes beyond the file extends to its end, and a reader that ignores sizes may take everything after it for
 * sound. Integer samples that a player takes for coded sound last longer than declared, by any factor: they have no bound.
 */
export function* readWav(file: Buffer, { wavChunksMax }: UploadLimits): AudioReader {
  let at = RIFF_HEAD_BYTES
  let format: WavFormat | null = null
  let dataBytes = 0
  let dataAt = -1
  for (let chunks = 0; at + CHUNK_HEAD_BYTES <= file.length; chunks++) {
    if (chunks >= wavChunksMax) return null
    const id = file.toString('latin1', at, at + 4)
    const size = file.readUInt32LE(at + 4)
    const start = at + CHUNK_HEAD_BYTES
    const left = file.length - start
    if (id === 'fmt ' && format === null) format = readFormat(file, start, Math.min(size, left))
    if (id === 'data') {
      if (format === null) return null
      if (dataAt < 0) dataAt = start
      if (size === 0 || size >= left) {
        dataBytes += left
        break
      }
      dataBytes += size
    }
    at = start + size + (size % 2)
  }
  if (format === null || dataAt < 0) return null
  if (format.tag === PCM && (isVoiceFile(file) || (yield* holdsCodedSound(file, dataAt)))) return null
  const bytesPerSecond = format.rate * format.bytesPerSample
  return { seconds: dataBytes / bytesPerSecond, secondsMax: (file.length - dataAt) / bytesPerSecond }
}

/** Microsoft's WAVEFORMATEX and WAVEFORMATEXTENSIBLE. */
function readFormat(file: Buffer, at: number, size: number): WavFormat | null {
  if (size < FORMAT_BYTES) return null
  const tag = file.readUInt16LE(at)
  const format = tag === EXTENSIBLE && size >= 40 ? file.readUInt16LE(at + 24) : tag
  const channels = file.readUInt16LE(at + 2)
  const rate = file.readUInt32LE(at + 4)
  const stated = file.readUInt16LE(at + 12)
  const computed = channels * Math.ceil(file.readUInt16LE(at + 14) / 8)
  const bytesPerSample = stated === 0 ? computed : Math.min(stated, computed)
  return PLAIN_FORMATS.has(format) && rate > 0 && bytesPerSample > 0 ? { tag: format, rate, bytesPerSample } : null
}

/** Whether this is a recording of a voice recorder (ACT), which has the head of a WAV file, then G.729. */
function isVoiceFile(file: Buffer): boolean {
  return file[ACT_MARK_AT] === ACT_MARK && file.subarray(ACT_ZEROS_AT, ACT_MARK_AT).every((byte) => byte === 0)
}
