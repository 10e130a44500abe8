import type { sluice } from '../wire/generated/messages.js'

/** Whether a model takes a first frame. */
export const FIRST_FRAMES = ['none', 'optional', 'required'] as const
export type FirstFrame = (typeof FIRST_FRAMES)[number]

/** The inputs that a video model accepts. Lengths are in characters (Unicode code points). */
export interface VideoSettings {
  /** Clip lengths in seconds; the first one is the default. */
  readonly seconds: readonly number[]
  readonly image: FirstFrame
  readonly aspectRatios: readonly string[]
  /** The `size` sent to the provider instead of aspect ratio and resolution: WxH by aspect ratio. */
  readonly sizes: ReadonlyMap<string, string>
  /** The one resolution; '' where the model has none to name. */
  readonly resolution: string
  /** Zero: the model takes no negative prompt. */
  readonly negativePromptMax: number
  readonly promptMax: number
}

/** The settings of a record; null for models of another modality. */
export function videoSettings(record: sluice.VideoSettings.$Properties | null | undefined): VideoSettings | null {
  if (record === null || record === undefined) return null
  return {
    seconds: record.seconds ?? [],
    image: FIRST_FRAMES.find((choice) => choice === record.image) ?? 'none',
    aspectRatios: record.aspectRatios ?? [],
    sizes: new Map(Object.entries(record.sizes ?? {})),
    resolution: record.resolution ?? '',
    negativePromptMax: record.negativePromptMax ?? 0,
    promptMax: record.promptMax ?? 0,
  }
}

/** The states of a video job in Redis, in the order they follow each other; see lua/videoWrite.lua. */
export const VideoState = { QUEUED: 1, IN_PROGRESS: 2, MADE: 3, COMPLETED: 4, FAILED: 5, LOST: 6 } as const
export type VideoState = (typeof VideoState)[keyof typeof VideoState]

/** The id of the job that a request has made, and back: receipts show the one, jobs the other. */
export function videoIdOf(requestId: string): string {
  return `video_${requestId.slice('req_'.length)}`
}

/** @param videoId has the form of an id of a video job */
export function requestIdOf(videoId: string): string {
  return `req_${videoId.slice('video_'.length)}`
}
