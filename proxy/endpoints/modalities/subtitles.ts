import type { ListItem } from '../../json/findMembers.ts'
import { spanValue } from '../../json/jsonSpans.ts'

export type SubtitleFormat = keyof typeof SUBTITLES

const MS_PER_SECOND = 1_000
const MS_PER_MINUTE = 60_000
const MS_PER_HOUR = 3_600_000
/** Beyond any recording that is accepted; WebVTT takes hours of any length. */
const SECONDS_MAX = 1_000_000
/**
 * Ends the times of a cue, and may not be in its text. It begins where a run does: otherwise a long run would be searched from
 * each of its characters.
 */
const ARROW = /(?<!-)-{2,}>/g
/** An empty line would end the cue. */
const LINE_ENDS = /[\r\n]+/g

/** SubRip, and WebVTT (https://www.w3.org/TR/webvtt1/): what each writes around the cues. */
export const SUBTITLES = {
  srt: { contentType: 'text/plain; charset=utf-8', head: '', mark: ',', isNumbered: true },
  vtt: { contentType: 'text/vtt; charset=utf-8', head: 'WEBVTT\n\n', mark: '.', isNumbered: false },
} as const

export function isSubtitles(format: string): format is SubtitleFormat {
  return Object.hasOwn(SUBTITLES, format)
}

/**
 * Subtitles with a cue for each segment of a transcription that has text.
 * @param segments with `start` and `end` in seconds, and `text`
 * @param bytes that the segments are spans of
 * @returns null when a segment is not as documented
 */
export function subtitlesOf(segments: readonly ListItem[], bytes: Buffer, format: SubtitleFormat): string | null {
  const { head, mark, isNumbered } = SUBTITLES[format]
  let written = head
  let number = 0
  for (const { members } of segments) {
    const start = secondsOf(spanValue(bytes, members?.get('start')))
    const end = secondsOf(spanValue(bytes, members?.get('end')))
    const text = spanValue(bytes, members?.get('text'))
    if (start === null || typeof text !== 'string') return null
    const line = text.trim().replace(LINE_ENDS, '\n').replace(ARROW, '->')
    if (line === '') continue
    number++
    if (isNumbered) written += `${number}\n`
    // Models that reckon times miss by a little, and do not know when the last segment ends.
    written += `${timeText(start, mark)} --> ${timeText(Math.max(start, end ?? start), mark)}\n${line}\n\n`
  }
  return written
}

/** A time within the recording; null for anything else. */
function secondsOf(value: unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) ? Math.min(Math.max(value, 0), SECONDS_MAX) : null
}

/** Hours, minutes, seconds and milliseconds. */
function timeText(seconds: number, mark: ',' | '.'): string {
  const ms = Math.round(seconds * MS_PER_SECOND)
  const hours = padded(Math.floor(ms / MS_PER_HOUR), 2)
  const minutes = padded(Math.floor((ms % MS_PER_HOUR) / MS_PER_MINUTE), 2)
  const rest = padded(Math.floor((ms % MS_PER_MINUTE) / MS_PER_SECOND), 2)
  return `${hours}:${minutes}:${rest}${mark}${padded(ms % MS_PER_SECOND, 3)}`
}

function padded(value: number, digits: number): string {
  return String(value).padStart(digits, '0')
}
