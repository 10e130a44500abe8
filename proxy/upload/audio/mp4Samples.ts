import { type Mp4Box, onlyBox, requiredBox, tableIn } from './mp4Boxes.ts'
import type { Mp4Sound } from './mp4Tracks.ts'
import type { Duration } from './reader.ts'
import { type PacketBudget, Unmeasured } from './soundTrack.ts'

/** Where the samples of one track are taken from, and the samples found. */
export class Mp4Samples {
  /** The longest time that may pass between the samples, by what they state. */
  statedSeconds: number
  readonly sound: Mp4Sound
  private readonly file: Buffer
  private readonly budget: PacketBudget
  private missing = 0
  private firstTime = -1

  constructor(file: Buffer, sound: Mp4Sound, budget: PacketBudget) {
    this.file = file
    this.sound = sound
    this.budget = budget
    this.statedSeconds = sound.statedSeconds
  }

  /** @throws Unmeasured */
  take(at: number, bytes: number): void {
    this.budget.take(bytes)
    // Samples that a file that was cut off lacks are not played.
    if (at >= this.file.length) this.missing++
    else if (!this.sound.sum.take(this.file.subarray(at, at + bytes))) throw new Unmeasured()
  }

  /** Notes that samples which begin at a time last this long, in ticks of the track. */
  noteTimes(start: number, ticks: number): void {
    if (this.firstTime < 0) this.firstTime = start
    this.statedSeconds = Math.max(this.statedSeconds, (start - this.firstTime + ticks) / this.sound.timescale)
  }

  duration(): Duration {
    const { seconds, secondsMax } = this.sound.sum.duration(0)
    const missing = this.missing * this.sound.sum.packetSecondsMax
    return { seconds, secondsMax: Math.max(secondsMax + missing, this.statedSeconds) }
  }
}

/**
 * Takes the samples of a track that its tables list (ISO/IEC 14496-12, section 8.7). Yields the bytes of each.
 * @throws Unmeasured when the tables contradict each other, so that players may find more samples than one of them states
 */
export function* tableSamples(file: Buffer, samples: Mp4Samples): Generator<number, void> {
  const { tables } = samples.sound
  samples.noteTimes(0, statedTicks(file, requiredBox(tables, 'stts', 8)))
  const sizes = sizesOf(file, tables)
  const groups = requiredBox(tables, 'stsc', 8)
  const groupTable = tableIn(file, groups, 4, 12)
  const chunks = chunksOf(file, tables)
  let sample = 0
  let group = -1
  let perChunk = 0
  let groupEnd = 0
  for (let chunk = 0; chunk < chunks.count; chunk++) {
    while (chunk === groupEnd) {
      const at = groupTable.at + ++group * 12
      if (group >= groupTable.count || file.readUInt32BE(at) !== groupEnd + 1 || file.readUInt32BE(at + 8) !== 1) {
        throw new Unmeasured()
      }
      perChunk = file.readUInt32BE(at + 4)
      groupEnd = group + 1 < groupTable.count ? file.readUInt32BE(at + 12) - 1 : chunks.count
      if (groupEnd <= chunk) throw new Unmeasured()
    }
    let at = chunks.offset(chunk)
    for (let left = perChunk; left > 0; left--) {
      if (sample >= sizes.count) throw new Unmeasured()
      const bytes = sizes.size(sample++)
      samples.take(at, bytes)
      at += bytes
      yield bytes
    }
  }
  if (sample < sizes.count) throw new Unmeasured()
}

function statedTicks(file: Buffer, box: Mp4Box): number {
  const { at, count } = tableIn(file, box, 4, 8)
  let ticks = 0
  for (let index = 0; index < count; index++) {
    ticks += file.readUInt32BE(at + index * 8) * file.readUInt32BE(at + index * 8 + 4)
  }
  // Of samples that are a tick long each, as in uncompressed sound, players ignore the sizes.
  if (count === 1 && file.readUInt32BE(at + 4) === 1) throw new Unmeasured()
  return ticks
}

interface Sizes {
  readonly count: number
  size(sample: number): number
}

function sizesOf(file: Buffer, tables: readonly Mp4Box[]): Sizes {
  const compact = onlyBox(tables, 'stz2')
  if (compact !== undefined) {
    if (onlyBox(tables, 'stsz') !== undefined) throw new Unmeasured()
    return compactSizes(file, compact)
  }
  const box = requiredBox(tables, 'stsz', 12)
  const each = file.readUInt32BE(box.dataAt + 4)
  if (each > 0) return { count: file.readUInt32BE(box.dataAt + 8), size: () => each }
  const { at, count } = tableIn(file, box, 8, 4)
  return { count, size: (sample) => file.readUInt32BE(at + sample * 4) }
}

function compactSizes(file: Buffer, box: Mp4Box): Sizes {
  if (box.end - box.dataAt < 12) throw new Unmeasured()
  const bits = file[box.dataAt + 7]
  if (bits !== 8 && bits !== 16) throw new Unmeasured()
  const { at, count } = tableIn(file, box, 8, bits / 8)
  return { count, size: (sample) => file.readUIntBE(at + (sample * bits) / 8, bits / 8) }
}

function chunksOf(file: Buffer, tables: readonly Mp4Box[]): { count: number; offset(chunk: number): number } {
  const large = onlyBox(tables, 'co64')
  if (large !== undefined) {
    if (onlyBox(tables, 'stco') !== undefined) throw new Unmeasured()
    const { at, count } = tableIn(file, large, 4, 8)
    return { count, offset: (chunk) => Number(file.readBigUInt64BE(at + chunk * 8)) }
  }
  const { at, count } = tableIn(file, requiredBox(tables, 'stco', 8), 4, 4)
  return { count, offset: (chunk) => file.readUInt32BE(at + chunk * 4) }
}
