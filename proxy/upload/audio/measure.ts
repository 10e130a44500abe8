import { setImmediate as nextTurn } from 'node:timers/promises'
import type { UploadLimits } from '../limits.ts'
import { readFlac } from './flac.ts'
import { behindTag } from './id3.ts'
import { readMp3 } from './mp3.ts'
import { readMp4 } from './mp4.ts'
import { readOgg } from './ogg.ts'
import type { AudioReader, Duration } from './reader.ts'
import { readWav } from './wav.ts'
import { readWebm } from './webm.ts'

export type Container = 'wav' | 'flac' | 'mp3' | 'ogg' | 'mp4' | 'webm'

export interface MeasuredAudio extends Duration {
  readonly container: Container
}

/** ffmpeg detects the format of a file in its first MiB (PROBE_BUF_MAX), in which the sound after the tag has to begin. */
const FLAC_TAG_BYTES_MAX = 1_000_000

/**
 * Measures an audio file: WAV, FLAC, MP3, Ogg, MP4 (also M4A) or WebM. The last two may hold pictures, too.
 * @returns null for anything else, for a file without sound, and for one whose length cannot be bounded
 */
export async function measureAudio(file: Buffer, limits: UploadLimits): Promise<MeasuredAudio | null> {
  const container = containerOf(file)
  if (container === null) return null
  const found = await inSteps(READERS[container](file, limits))
  return found !== null && found.seconds > 0 && Number.isFinite(found.secondsMax) ? { container, ...found } : null
}

const READERS: Readonly<Record<Container, (file: Buffer, limits: UploadLimits) => AudioReader>> = {
  wav: readWav,
  flac: readFlac,
  mp3: readMp3,
  ogg: readOgg,
  mp4: readMp4,
  webm: readWebm,
}

async function inSteps(reader: AudioReader): Promise<Duration | null> {
  for (;;) {
    const step = reader.next()
    if (step.done === true) return step.value
    await nextTurn()
  }
}

function containerOf(file: Buffer): Container | null {
  const start = file.toString('latin1', 0, 12)
  if (/^(?:RIFF|RF64)....WAVE$/s.test(start)) return 'wav'
  if (start.startsWith('OggS')) return 'ogg'
  if (start.startsWith('ftyp', 4)) return 'mp4'
  if (start.startsWith('\x1aE\xdf\xa3')) return 'webm'
  // FLAC and MP3 files may both begin with an ID3 tag. After a longer or a second tag, players take FLAC for MP3.
  const at = behindTag(file, 0)
  if (file.toString('latin1', at, at + 4) !== 'fLaC') return 'mp3'
  return at <= FLAC_TAG_BYTES_MAX ? 'flac' : null
}
