export const MPEG_HEAD_BYTES = 4

/** A frame of MPEG audio, layer I to III (ISO/IEC 11172-3, 13818-3 and the usual extension to low rates, MPEG-2.5). */
export interface MpegFrame {
  /** Header and sound. */
  readonly bytes: number
  readonly samples: number
  readonly rate: number
  /** Version, layer and rate, which do not change within a file. */
  readonly kind: number
  readonly mpeg1: boolean
  readonly mono: boolean
  readonly layer3: boolean
}

// kbit/s by index, of MPEG-1 layers I to III, then of MPEG-2 layer I and layers II and III.
const BITRATES: readonly (readonly number[])[] = [
  [0, 32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448],
  [0, 32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384],
  [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320],
  [0, 32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256],
  [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
]
const RATES = [44_100, 48_000, 32_000]

/**
 * Reads the frame whose header is at `at`. Frames of free format are not accepted, because no header states their size.
 * @returns null when there is no valid header
 */
export function mpegFrameAt(file: Buffer, at: number): MpegFrame | null {
  if (at + MPEG_HEAD_BYTES > file.length || file[at] !== 0xff || ((file[at + 1] as number) & 0xe0) !== 0xe0) return null
  const version = ((file[at + 1] as number) >> 3) & 3
  const layer = 4 - (((file[at + 1] as number) >> 1) & 3)
  const third = file[at + 2] as number
  const bitrateIndex = third >> 4
  const rateIndex = (third >> 2) & 3
  if (version === 1 || layer === 4 || bitrateIndex === 0 || bitrateIndex === 15 || rateIndex === 3) return null
  if (((file[at + 3] as number) & 3) === 2) return null
  const mpeg1 = version === 3
  const bitrate = (BITRATES[mpeg1 ? layer - 1 : layer === 1 ? 3 : 4]?.[bitrateIndex] as number) * 1_000
  const rate = (RATES[rateIndex] as number) / (mpeg1 ? 1 : version === 2 ? 2 : 4)
  const samples = layer === 1 ? 384 : layer === 3 && !mpeg1 ? 576 : 1_152
  const padding = (third >> 1) & 1
  const bytes =
    layer === 1
      ? (Math.floor((12 * bitrate) / rate) + padding) * 4
      : Math.floor((samples * bitrate) / 8 / rate) + padding
  return {
    bytes,
    samples,
    rate,
    kind: version * 64 + layer * 8 + rateIndex,
    mpeg1,
    mono: (file[at + 3] as number) >> 6 === 3,
    layer3: layer === 3,
  }
}
