import type { ContractLimits, LimitsOf } from '../../contract/limits/limits.ts'

/** The limits of reading forms and measuring sound. A file beyond one of them is refused, because its length is not known. */
export const UPLOAD_LIMITS = {
  /** Lookalikes of the boundary that one part of a form may contain, so that the search for the real one takes little time. */
  formLookalikesMax: 1_000,
  /** Tracks of a file of MP4 or WebM, and streams of one of Ogg. */
  audioTracksMax: 64,
  /** Chunks of a WAV file. */
  wavChunksMax: 10_000,
  /** Positions of an Ogg file that look like a page without being one. */
  oggLostPagesMax: 10_000,
  /** Damaged pages above which it is unclear which packets a decoder makes of them, and how long those are. */
  oggDamagedPagesMax: 16,
  /** Samples of all tracks of sound of an MP4 file: four hours of blocks of 1,024 at 96 kHz are 1,350,000. */
  mp4SamplesMax: 2_000_000,
  /** Boxes of an MP4 file next to each other: a fragment, its data and its type for every quarter of a second. */
  mp4BoxesMax: 200_000,
  /** Packets of all tracks of sound of a WebM file: four hours at 2.5 ms are 5,760,000. */
  webmPacketsMax: 6_000_000,
  /** The head of a part of a form, in bytes. */
  formHeadBytesMax: 16_384,
} as const

export type UploadLimits = LimitsOf<typeof UPLOAD_LIMITS> & ContractLimits
