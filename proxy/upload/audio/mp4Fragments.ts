import { boxesIn, type Mp4Box, namesMore, onlyBox, requiredBox } from './mp4Boxes.ts'
import type { Mp4Samples } from './mp4Samples.ts'
import { Unmeasured } from './soundTrack.ts'

// Flags of tfhd.
const BASE_OFFSET = 1
const DESCRIPTION = 2
const USUAL_DURATION = 8
const USUAL_SIZE = 16
const USUAL_FLAGS = 32
const BASE_IS_MOOF = 0x20000
// Flags of trun.
const DATA_OFFSET = 1
const FIRST_FLAGS = 4
const DURATION = 0x100
const SIZE = 0x200
const SAMPLE_FIELDS = [DURATION, SIZE, 0x400, 0x800]

/** The usual duration and size of samples. */
interface Usual {
  readonly duration: number
  readonly size: number
}

/** The defaults that mvex states for each track. */
export function usualOf(file: Buffer, movie: readonly Mp4Box[]): ReadonlyMap<number, Usual> {
  const usual = new Map<number, Usual>()
  const extended = onlyBox(movie, 'mvex')
  if (extended === undefined) return usual
  for (const { type, dataAt, end } of boxesIn(file, extended)) {
    if (type !== 'trex') continue
    const id = end - dataAt < 24 ? 0 : file.readUInt32BE(dataAt + 4)
    if (id === 0 || usual.has(id) || file.readUInt32BE(dataAt + 8) !== 1) throw new Unmeasured()
    usual.set(id, { duration: file.readUInt32BE(dataAt + 12), size: file.readUInt32BE(dataAt + 16) })
  }
  return usual
}

/** The fields of a tfhd. */
interface RunHead extends Usual {
  readonly id: number
  /** The base of the offsets of runs; null when it depends on other tracks. */
  readonly base: number | null
}

/** Takes the samples of a fragment (ISO/IEC 14496-12, section 8.8), those of all tracks of sound. Yields the bytes of each. */
export class Mp4Fragments {
  private readonly file: Buffer
  private readonly tracks: ReadonlyMap<number, Mp4Samples>
  private readonly usual: ReadonlyMap<number, Usual>

  constructor(file: Buffer, tracks: ReadonlyMap<number, Mp4Samples>, usual: ReadonlyMap<number, Usual>) {
    this.file = file
    this.tracks = tracks
    this.usual = usual
  }

  /** @throws Unmeasured */
  *take(fragment: Mp4Box): Generator<number, void> {
    const { file } = this
    const parts = boxesIn(file, fragment).filter(({ type }) => type === 'traf')
    let runs = 0
    for (const [index, part] of parts.entries()) {
      const boxes = boxesIn(file, part)
      const head = this.head(requiredBox(boxes, 'tfhd', 8), fragment.start, index === 0)
      runs += boxes.filter(({ type }) => type === 'trun').length
      const samples = this.tracks.get(head.id)
      if (samples !== undefined) yield* this.runs(boxes, head, samples)
    }
    const bytes = file.subarray(fragment.start, fragment.end)
    if (namesMore(bytes, 'trun', runs) || namesMore(bytes, 'traf', parts.length) || namesMore(bytes, 'trak', 0)) {
      throw new Unmeasured()
    }
  }

  private head({ dataAt, end }: Mp4Box, fragmentAt: number, isFirst: boolean): RunHead {
    const { file } = this
    const flags = file.readUInt32BE(dataAt)
    const id = file.readUInt32BE(dataAt + 4)
    const fields = [8, 4, 4, 4, 4]
    const present = [BASE_OFFSET, DESCRIPTION, USUAL_DURATION, USUAL_SIZE, USUAL_FLAGS]
    const places = new Map<number, number>()
    let at = dataAt + 8
    for (const [index, flag] of present.entries()) {
      if ((flags & flag) === 0) continue
      places.set(flag, at)
      at += fields[index] as number
    }
    if (at > end) throw new Unmeasured()
    const numberOf = (flag: number, usual: number) => {
      const place = places.get(flag)
      return place === undefined ? usual : file.readUInt32BE(place)
    }
    const usual = this.usual.get(id) ?? { duration: 0, size: 0 }
    const described = numberOf(DESCRIPTION, 1)
    if (described !== 1 && this.tracks.has(id)) throw new Unmeasured()
    const baseAt = places.get(BASE_OFFSET)
    const base =
      baseAt === undefined
        ? isFirst || (flags & BASE_IS_MOOF) !== 0
          ? fragmentAt
          : null
        : Number(file.readBigUInt64BE(baseAt))
    return { id, base, duration: numberOf(USUAL_DURATION, usual.duration), size: numberOf(USUAL_SIZE, usual.size) }
  }

  private *runs(boxes: readonly Mp4Box[], head: RunHead, samples: Mp4Samples): Generator<number, void> {
    if (head.base === null) throw new Unmeasured()
    const start = this.startTime(boxes)
    let at = head.base
    let ticks = 0
    for (const run of boxes) {
      if (run.type !== 'trun') continue
      const { file } = this
      const { flags, count, firstAt, rowBytes, offset } = this.run(run)
      if (offset !== null) at = head.base + offset
      if (at < 0) throw new Unmeasured()
      const sizeAt = (flags & DURATION) === 0 ? 0 : 4
      for (let row = 0; row < count; row++) {
        const place = firstAt + row * rowBytes
        ticks += (flags & DURATION) === 0 ? head.duration : file.readUInt32BE(place)
        const bytes = (flags & SIZE) === 0 ? head.size : file.readUInt32BE(place + sizeAt)
        samples.take(at, bytes)
        at += bytes
        yield bytes
      }
    }
    samples.noteTimes(start, ticks)
  }

  private run({ dataAt, end }: Mp4Box) {
    const { file } = this
    if (end - dataAt < 8) throw new Unmeasured()
    const flags = file.readUInt32BE(dataAt) & 0xffffff
    const count = file.readUInt32BE(dataAt + 4)
    const offset = (flags & DATA_OFFSET) === 0 || end - dataAt < 12 ? null : file.readInt32BE(dataAt + 8)
    const firstAt = dataAt + 8 + ((flags & DATA_OFFSET) === 0 ? 0 : 4) + ((flags & FIRST_FLAGS) === 0 ? 0 : 4)
    const rowBytes = SAMPLE_FIELDS.filter((flag) => (flags & flag) !== 0).length * 4
    if (firstAt + count * rowBytes > end) throw new Unmeasured()
    return { flags, count, firstAt, rowBytes, offset }
  }

  private startTime(boxes: readonly Mp4Box[]): number {
    const box = onlyBox(boxes, 'tfdt')
    if (box === undefined) return 0
    const { dataAt, end } = box
    const isLarge = this.file[dataAt] === 1
    if (end - dataAt < (isLarge ? 12 : 8)) throw new Unmeasured()
    return isLarge ? Number(this.file.readBigUInt64BE(dataAt + 4)) : this.file.readUInt32BE(dataAt + 4)
  }
}
