import { boxAt, boxesIn, type Mp4Box, namesMore } from './mp4Boxes.ts'
import { Mp4Fragments, usualOf } from './mp4Fragments.ts'
import { Mp4Samples, tableSamples } from './mp4Samples.ts'
import { soundTracks } from './mp4Tracks.ts'
import { type AudioReader, PLACES_PER_STEP } from './reader.ts'
import { longestOf, PacketBudget, Unmeasured } from './soundTrack.ts'

/** Samples of all tracks of sound: four hours of blocks of 1,024 at 96 kHz are 1,350,000. */
const SAMPLES_MAX = 2_000_000
/** Boxes next to each other: a fragment, its data and its type for every quarter of a second. */
const BOXES_MAX = 200_000
const FRAGMENTS_PER_STEP = 64
/** Bytes of samples that are read in a step, and what a sample costs in addition to its bytes. */
const BYTES_PER_STEP = 32_768
const SAMPLE_COST_BYTES = 32
/** Of a box that lists samples. */
const LIST_BYTES_MIN = 16
/** Boxes that list samples, of files and of fragments. Players read such boxes wherever they are, so one that is not where it belongs has no bound. */
const TABLES = ['trak', 'stbl', 'stsz', 'stz2']
const RUNS = ['traf', 'trun']
/** The names that players may come upon where an index of the file leads them. */
const LEADS = ['trak', 'trun']
/** A movie that is compressed. */
const COMPRESSED = 'cmov'

interface Layout {
  readonly movie: Mp4Box
  readonly fragments: readonly Mp4Box[]
  /** Everything but the movie, fragments and data. */
  readonly others: readonly Mp4Box[]
  readonly data: readonly Mp4Box[]
}

/**
 * Measures an MP4 file (ISO/IEC 14496-12), also one in fragments, by the samples of its tracks of sound and by what these
 * hold. Its stated lengths only raise the bound. A player plays one of several tracks.
 */
export function* readMp4(file: Buffer): AudioReader {
  try {
    const layout = yield* layoutOf(file)
    if (layout === null) return null
    const movie = boxesIn(file, layout.movie)
    const { tracks, sounds } = soundTracks(file, movie)
    checkLists(file, layout, tracks)
    yield* checkData(file, layout.data)
    const budget = new PacketBudget(file.length, SAMPLES_MAX)
    const samples = sounds.map((sound) => new Mp4Samples(file, sound, budget))
    for (const track of samples) yield* inSteps(tableSamples(file, track))
    const fragments = new Mp4Fragments(
      file,
      new Map(samples.map((track) => [track.sound.id, track])),
      usualOf(file, movie),
    )
    for (const [index, fragment] of layout.fragments.entries()) {
      yield* inSteps(fragments.take(fragment))
      if (index % FRAGMENTS_PER_STEP === 0) yield
    }
    return longestOf(samples.map((track) => track.duration()))
  } catch (error) {
    if (error instanceof Unmeasured) return null
    throw error
  }
}

function* layoutOf(file: Buffer): Generator<void, Layout | null> {
  let movie: Mp4Box | null = null
  const fragments: Mp4Box[] = []
  const others: Mp4Box[] = []
  const data: Mp4Box[] = []
  let boxes = 0
  for (let at = 0; ; ) {
    const box = boxAt(file, at, file.length)
    if (box === null) break
    at = box.end
    if (++boxes > BOXES_MAX) throw new Unmeasured()
    if (boxes % PLACES_PER_STEP === 0) yield
    if (box.type === 'moov') {
      if (movie !== null) throw new Unmeasured()
      movie = box
    } else if (box.type === 'moof') fragments.push(box)
    else if (box.type === 'mdat') data.push(box)
    else others.push(box)
  }
  return movie === null ? null : { movie, fragments, others, data }
}

/** @throws Unmeasured when samples are listed elsewhere than they were read */
function checkLists(file: Buffer, { movie, others }: Layout, tracks: number): void {
  const bytes = file.subarray(movie.start, movie.end)
  if (namesMore(bytes, COMPRESSED, 0)) throw new Unmeasured()
  for (const name of [...TABLES, ...RUNS]) {
    if (namesMore(bytes, name, TABLES.includes(name) ? tracks : 0)) throw new Unmeasured()
    for (const { start, end } of others) if (namesMore(file.subarray(start, end), name, 0)) throw new Unmeasured()
  }
}

/** @throws Unmeasured when the data hide a list of samples */
function* checkData(file: Buffer, data: readonly Mp4Box[]): Generator<void, void> {
  let places = 0
  for (const { dataAt, end } of data) {
    const bytes = file.subarray(dataAt, end)
    for (const name of LEADS) {
      for (let at = bytes.indexOf(name, 4, 'latin1'); at >= 0; at = bytes.indexOf(name, at + 1, 'latin1')) {
        const size = bytes.readUInt32BE(at - 4)
        if (size < 2 || (size >= LIST_BYTES_MIN && size <= bytes.length - at + 4)) throw new Unmeasured()
        if (++places % PLACES_PER_STEP === 0) yield
      }
    }
    if (++places % PLACES_PER_STEP === 0) yield
  }
}

/** @param samples yields the bytes of each */
function* inSteps(samples: Generator<number, void>): Generator<void, void> {
  let bytes = 0
  for (const sample of samples) {
    bytes += sample + SAMPLE_COST_BYTES
    if (bytes < BYTES_PER_STEP) continue
    bytes = 0
    yield
  }
}
