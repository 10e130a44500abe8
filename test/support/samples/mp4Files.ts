/** Writes MP4 files by hand, as right and as wrong as a test wants them. */

/** A block of AAC-LC without sound: one channel, no bands. */
export const QUIET_AAC = Buffer.from([0, 0, 0, 7])

export function box(type: string, ...data: readonly Buffer[]): Buffer {
  const head = Buffer.alloc(8)
  head.writeUInt32BE(8 + data.reduce((sum, { length }) => sum + length, 0))
  head.write(type, 4, 'latin1')
  return Buffer.concat([head, ...data])
}

/** A box whose data begin with a version and flags. */
export function fullBox(type: string, flags: number, ...data: readonly Buffer[]): Buffer {
  return box(type, uints(flags), ...data)
}

/** Numbers of four bytes. */
export function uints(...values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(values.length * 4)
  for (const [index, value] of values.entries()) bytes.writeUInt32BE(value >>> 0, index * 4)
  return bytes
}

/** AudioSpecificConfig of AAC-LC, 48 kHz, one channel. */
const AAC_CONFIG = Buffer.from([0x11, 0x88])

export interface SoundTrack {
  readonly samples: readonly Buffer[]
  readonly id?: number
  readonly codec?: 'mp4a' | 'alac' | 'Opus' | 'sowt'
  readonly config?: Buffer
  /** Ticks in a second; 48,000 when absent. */
  readonly timescale?: number
  /** Ticks of each sample; 1,024 when absent. */
  readonly ticks?: number
  /** What mdhd states; what the samples add up to when absent. */
  readonly duration?: number
  readonly handler?: string
  /** Samples of each chunk; all in one when absent. */
  readonly perChunk?: number
  /** Boxes that replace those of the sample table, by type. */
  readonly tables?: Readonly<Record<string, Buffer>>
  /** Start and length of each edit, in ticks; a start of -1 is silence. */
  readonly edits?: readonly (readonly [start: number, length: number])[]
  /** Further boxes of trak. */
  readonly more?: readonly Buffer[]
}

export function sampleEntry({ codec = 'mp4a', config = AAC_CONFIG }: Pick<SoundTrack, 'codec' | 'config'>): Buffer {
  const head = Buffer.alloc(28)
  head.writeUInt16BE(1, 6)
  head.writeUInt16BE(1, 16)
  head.writeUInt16BE(16, 18)
  head.writeUInt16BE(48_000, 24)
  const specific = Buffer.concat([Buffer.from([5, config.length]), config])
  const decoder = Buffer.concat([Buffer.from([4, 13 + specific.length, 0x40, 0x15]), Buffer.alloc(11), specific])
  const stream = Buffer.concat([Buffer.from([3, 3 + decoder.length, 0, 1, 0]), decoder])
  const alac = Buffer.alloc(24)
  alac.writeUInt32BE(4_096)
  alac.writeUInt32BE(48_000, 20)
  const opus = Buffer.from([0, 1, 0, 0, 0, 0, 0xbb, 0x80, 0, 0, 0])
  const described = {
    mp4a: () => fullBox('esds', 0, stream),
    alac: () => fullBox('alac', 0, alac),
    Opus: () => box('dOps', opus),
    sowt: () => box('chan'),
  }
  return box(codec, head, described[codec]())
}

function sizesOf(samples: readonly Buffer[]): Buffer {
  const sizes = Buffer.alloc(samples.length * 4)
  for (const [index, { length }] of samples.entries()) sizes.writeUInt32BE(length, index * 4)
  return sizes
}

/** A track whose chunks begin at these places. */
function track(sound: SoundTrack, offsets: readonly number[]): Buffer {
  const { samples, timescale = 48_000, ticks = 1_024, perChunk = samples.length, tables = {} } = sound
  const count = samples.length
  const usual: Readonly<Record<string, Buffer>> = {
    stsd: fullBox('stsd', 0, uints(1), sampleEntry(sound)),
    stts: fullBox('stts', 0, count === 0 ? uints(0) : uints(1, count, ticks)),
    stsc: fullBox('stsc', 0, count === 0 ? uints(0) : uints(1, 1, perChunk, 1)),
    stsz: fullBox('stsz', 0, uints(0, count), sizesOf(samples)),
    stco: fullBox('stco', 0, uints(offsets.length, ...offsets)),
  }
  const listed = { ...usual, ...tables }
  const edits = sound.edits ?? []
  const list = edits.map(([start, length]) => uints(length, start, 0x10000))
  return box(
    'trak',
    fullBox('tkhd', 3, uints(0, 0, sound.id ?? 1, 0, count * ticks), Buffer.alloc(60)),
    ...(edits.length === 0 ? [] : [box('edts', fullBox('elst', 0, uints(edits.length), ...list))]),
    box(
      'mdia',
      fullBox('mdhd', 0, uints(0, 0, timescale, sound.duration ?? count * ticks, 0)),
      fullBox('hdlr', 0, uints(0), Buffer.from(sound.handler ?? 'soun', 'latin1'), Buffer.alloc(13)),
      box('minf', fullBox('smhd', 0, uints(0)), box('stbl', ...Object.values(listed))),
    ),
    ...(sound.more ?? []),
  )
}

function movieHead(seconds = 0): Buffer {
  return fullBox('mvhd', 0, uints(0, 0, 1_000, seconds * 1_000), Buffer.alloc(80))
}

export interface MovieOptions {
  /** The list of samples comes before them. */
  readonly listFirst?: boolean
  /** What mvhd states. */
  readonly seconds?: number
  /** Boxes behind the type, and within the movie. */
  readonly before?: readonly Buffer[]
  readonly within?: readonly Buffer[]
}

const FILE_TYPE = box('ftyp', Buffer.from('M4A \0\0\0\0M4A mp42isom', 'latin1'))

/** A file of these tracks, each with its samples in chunks. */
export function mp4File(tracks: readonly SoundTrack[], options: MovieOptions = {}): Buffer {
  const { listFirst = false, seconds = 0, before = [], within = [] } = options
  const data = box('mdat', Buffer.concat(tracks.flatMap(({ samples }) => samples)))
  const movieAt = (dataAt: number): Buffer => {
    let at = dataAt + 8
    const traks = tracks.map((sound) => {
      const offsets: number[] = []
      const perChunk = sound.perChunk ?? Math.max(1, sound.samples.length)
      sound.samples.forEach((sample, index) => {
        if (index % perChunk === 0) offsets.push(at)
        at += sample.length
      })
      return track(sound, offsets)
    })
    return box('moov', movieHead(seconds), ...traks, ...within)
  }
  const start = Buffer.concat([FILE_TYPE, ...before])
  if (!listFirst) return Buffer.concat([start, data, movieAt(start.length)])
  const movie = movieAt(0)
  return Buffer.concat([start, movieAt(start.length + movie.length), data])
}

export interface FragmentOptions {
  readonly id?: number
  /** Of the fragment's first sample. */
  readonly time?: number
  readonly ticks?: number
  /** What is listed in place of the samples' number. */
  readonly count?: number
}

/** A fragment as MediaRecorder of Safari writes it. */
export function fragment(samples: readonly Buffer[], options: FragmentOptions = {}): Buffer {
  const { id = 1, time = 0, ticks = 1_024, count = samples.length } = options
  const build = (offset: number): Buffer =>
    box(
      'moof',
      fullBox('mfhd', 0, uints(1)),
      box(
        'traf',
        fullBox('tfhd', 0x20008, uints(id, ticks)),
        fullBox('tfdt', 0, uints(time)),
        fullBox('trun', 0x201, uints(count, offset, ...samples.map(({ length }) => length))),
      ),
    )
  const { length } = build(0)
  return Buffer.concat([build(length + 8), box('mdat', ...samples)])
}

/** A file in fragments. */
export function fragmentedFile(fragments: readonly Buffer[], size = 0): Buffer {
  const extended = box('mvex', fullBox('trex', 0, uints(1, 1, 1_024, size, 0)))
  return Buffer.concat([FILE_TYPE, box('moov', movieHead(), track({ samples: [] }, []), extended), ...fragments])
}
