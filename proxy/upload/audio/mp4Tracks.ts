import { boxesIn, type Mp4Box, onlyBox, requiredBox, tableIn } from './mp4Boxes.ts'
import { type Mp4Codec, mp4Codec } from './mp4Codecs.ts'
import { Unmeasured } from './soundTrack.ts'

/** Codecs that a player takes for sound, pictures, or neither. Others may be any of them. */
const SOUND: ReadonlySet<string> = new Set(['mp4a', 'alac', 'Opus'])
const PICTURES: ReadonlySet<string> = new Set('avc1 avc3 hvc1 hev1 dvh1 vp08 vp09 av01 mp4v s263 h263 jpeg'.split(' '))
const OTHERS: ReadonlySet<string> = new Set(
  'mebx mett metx tx3g text tmcd wvtt stpp sbtt c608 mp4s rtp urim'.split(' '),
)
const UNKNOWN_32 = 0xffffffff
const UNKNOWN_64 = 2 ** 64
const TRACKS_MAX = 64

/** A track of sound. */
export interface Mp4Sound {
  readonly id: number
  /** Its samples' tables. */
  readonly tables: readonly Mp4Box[]
  /** Ticks of its times in a second. */
  readonly timescale: number
  readonly sum: Mp4Codec
  /** The length that the heads state. */
  readonly statedSeconds: number
}

/** The tracks of sound of a file, and how many tracks it has. */
export function soundTracks(file: Buffer, movie: readonly Mp4Box[]): { tracks: number; sounds: readonly Mp4Sound[] } {
  const movieHead = requiredBox(movie, 'mvhd', 20)
  const movieSeconds = statedSeconds(file, movieHead)
  const movieScale = file.readUInt32BE(timesAt(file, movieHead))
  const tracks = movie.filter(({ type }) => type === 'trak')
  if (tracks.length > TRACKS_MAX) throw new Unmeasured()
  const sounds: Mp4Sound[] = []
  for (const track of tracks) {
    const parts = boxesIn(file, track)
    const media = boxesIn(file, requiredBox(parts, 'mdia', 8))
    const tables = boxesIn(file, requiredBox(boxesIn(file, requiredBox(media, 'minf', 8)), 'stbl', 8))
    const entry = soundEntry(file, requiredBox(media, 'hdlr', 12), requiredBox(tables, 'stsd', 8))
    if (entry === null) continue
    const head = requiredBox(media, 'mdhd', 20)
    const emptySeconds = emptyTicks(file, parts) / Math.max(1, movieScale)
    sounds.push({
      id: trackId(file, requiredBox(parts, 'tkhd', 20)),
      tables,
      timescale: Math.max(1, file.readUInt32BE(timesAt(file, head))),
      sum: mp4Codec(file, entry),
      statedSeconds: Math.max(movieSeconds, statedSeconds(file, head) + emptySeconds),
    })
  }
  if (new Set(sounds.map(({ id }) => id)).size < sounds.length) throw new Unmeasured()
  return { tracks: tracks.length, sounds }
}

/** The one description of a track's samples; null for a track that is not sound. */
function soundEntry(file: Buffer, handler: Mp4Box, descriptions: Mp4Box): Mp4Box | null {
  const kind = file.toString('latin1', handler.dataAt + 8, handler.dataAt + 12)
  const entries = boxesIn(file, descriptions, descriptions.dataAt + 8)
  const isPicture = kind === 'vide' && entries.every(({ type }) => PICTURES.has(type))
  if (isPicture || (kind !== 'soun' && entries.every(({ type }) => OTHERS.has(type)))) return null
  const [entry, other] = entries
  const stated = file.readUInt32BE(descriptions.dataAt + 4)
  if (entry === undefined || other !== undefined || stated !== 1 || !SOUND.has(entry.type) || kind === 'vide') {
    throw new Unmeasured()
  }
  return entry
}

/** Where the timescale of mvhd or mdhd is, and after it the duration. */
function timesAt(file: Buffer, { dataAt, end }: Mp4Box): number {
  const isLarge = file[dataAt] === 1
  if (isLarge && end - dataAt < 32) throw new Unmeasured()
  return dataAt + (isLarge ? 20 : 12)
}

function statedSeconds(file: Buffer, box: Mp4Box): number {
  const at = timesAt(file, box)
  const ticks = file[box.dataAt] === 1 ? Number(file.readBigUInt64BE(at + 4)) : file.readUInt32BE(at + 4)
  if (ticks === UNKNOWN_32 || ticks === UNKNOWN_64) return 0
  return ticks / Math.max(1, file.readUInt32BE(at))
}

function trackId(file: Buffer, { dataAt, end }: Mp4Box): number {
  const at = dataAt + (file[dataAt] === 1 ? 20 : 12)
  if (at + 4 > end) throw new Unmeasured()
  return file.readUInt32BE(at)
}

/**
 * The silence before a track, in ticks of the movie.
 * @throws Unmeasured when parts of the track are to be played by themselves, perhaps many times
 */
function emptyTicks(file: Buffer, parts: readonly Mp4Box[]): number {
  const edits = onlyBox(parts, 'edts')
  const box = edits === undefined ? undefined : onlyBox(boxesIn(file, edits), 'elst')
  if (box === undefined) return 0
  const isLarge = file[box.dataAt] === 1
  const table = tableIn(file, box, 4, isLarge ? 20 : 12)
  let ticks = 0
  let played = 0
  for (let index = 0; index < table.count; index++) {
    const at = table.at + index * (isLarge ? 20 : 12)
    const from = isLarge ? Number(file.readBigInt64BE(at + 8)) : file.readInt32BE(at + 4)
    if (from >= 0) played++
    else ticks += isLarge ? Number(file.readBigUInt64BE(at)) : file.readUInt32BE(at)
    if (played > 1) throw new Unmeasured()
  }
  return ticks
}
