import type { UploadLimits } from '../limits.ts'
import { type EbmlElement, elementAt, floatOf, uintOf } from './ebml.ts'
import { type Duration, PLACES_PER_STEP } from './reader.ts'
import { longestOf, PacketBudget, type PacketSum, Unmeasured } from './soundTrack.ts'
import { blockAt, packetsOf } from './webmBlocks.ts'
import { partsOf, webmTracks } from './webmTracks.ts'

// In the segment.
const INFO = 0x1549a966
const TRACKS = 0x1654ae6b
const CLUSTER = 0x1f43b675
// In the info.
const TICK_NANOSECONDS = 0x2ad7b1
const DURATION = 0x4489
const USUAL_TICK_NANOSECONDS = 1_000_000
// In a cluster.
const TIME = 0xe7
const SIMPLE_BLOCK = 0xa3
const BLOCK_GROUP = 0xa0
const BLOCK = 0xa1
const VOID = 0xec
const CHECKSUM = 0xbf
const POSITION = 0xa7
const PREVIOUS_SIZE = 0xab
const SILENT_TRACKS = 0x5854
const CLUSTER_PARTS: ReadonlySet<number> = new Set([
  TIME,
  SIMPLE_BLOCK,
  BLOCK_GROUP,
  VOID,
  CHECKSUM,
  POSITION,
  PREVIOUS_SIZE,
  SILENT_TRACKS,
])
/** Those without a name here are indexes, attachments, chapters and tags. */
const SEGMENT_PARTS: ReadonlySet<number> = new Set([
  INFO,
  TRACKS,
  VOID,
  CHECKSUM,
  0x114d9b74,
  0x1c53bb6b,
  0x1941a469,
  0x1043a770,
  0x1254c367,
])
/** Of what looks like a cluster in the bytes of a file. */
const HIDDEN_MAX = 1_000
const HIDDEN_PARTS_MAX = 1_000
const STEPS = 16
const CLUSTER_ID = Buffer.from('1f43b675', 'hex')

/** A track of sound. */
interface Sound {
  readonly sum: PacketSum
  /** In ticks; undefined before there is a block. */
  firstTime: number | undefined
  statedSeconds: number
}

/** Reads the segment of a Matroska file, which everything else is in. */
export class WebmSegment {
  private readonly file: Buffer
  private readonly limits: UploadLimits
  private readonly budget: PacketBudget
  private sounds: ReadonlyMap<number, Sound | null> | null = null
  private tickSeconds = USUAL_TICK_NANOSECONDS / 1e9
  private statedSeconds = 0
  /** Where they begin. */
  private readonly clusters = new Set<number>()
  private clusterTime = 0
  private places = 0

  constructor(file: Buffer, limits: UploadLimits) {
    this.file = file
    this.limits = limits
    this.budget = new PacketBudget(file.length, limits.webmPacketsMax)
  }

  /** @throws Unmeasured */
  *take(segment: EbmlElement): Generator<void, void> {
    const { file } = this
    let cluster: EbmlElement | null = null
    for (let at = segment.dataAt; at < segment.end; ) {
      if (++this.places % PLACES_PER_STEP === 0) yield
      if (cluster?.isOpen === false && at >= cluster.end) cluster = null
      const limit = cluster?.isOpen === false ? cluster.end : segment.end
      const element = elementAt(file, at, limit)
      // Only the end of the file may cut an element off.
      if ((element === null || element.isCut) && limit < file.length) throw new Unmeasured()
      if (element === null) return
      const isClosed = cluster?.isOpen === false
      if (element.id === CLUSTER && !isClosed) {
        cluster = element
        this.clusters.add(at)
        this.clusterTime = 0
        at = element.dataAt
        continue
      }
      // Only the size of a cluster may be unknown, which then ends before the next part of the segment.
      if (element.isOpen) throw new Unmeasured()
      if (cluster !== null && CLUSTER_PARTS.has(element.id)) this.clusterPart(element)
      else if (isClosed || !SEGMENT_PARTS.has(element.id)) throw new Unmeasured()
      else {
        this.segmentPart(element)
        cluster = null
      }
      at = element.end
    }
  }

  /**
   * Players that lose their way in a file search for its next cluster.
   * @throws Unmeasured when they may find one with sound which was not read
   */
  *checkHidden(): Generator<void, void> {
    const { file } = this
    let steps = 0
    for (let at = file.indexOf(CLUSTER_ID); at >= 0; at = file.indexOf(CLUSTER_ID, at + 1)) {
      if (++steps % STEPS === 0) yield
      if (this.clusters.has(at)) continue
      if (steps > HIDDEN_MAX + this.clusters.size || this.holdsSound(at)) throw new Unmeasured()
    }
  }

  duration(): Duration | null {
    const tracks: Duration[] = []
    for (const sound of this.sounds?.values() ?? []) {
      if (sound === null) continue
      const { seconds, secondsMax } = sound.sum.duration(0)
      tracks.push({ seconds, secondsMax: Math.max(secondsMax, sound.statedSeconds, this.statedSeconds) })
    }
    return longestOf(tracks)
  }

  /** Whether a block of sound follows what looks like the head of a cluster. */
  private holdsSound(start: number): boolean {
    const { file } = this
    try {
      const cluster = elementAt(file, start, file.length)
      let at = cluster?.dataAt ?? file.length
      for (let parts = 0; parts < HIDDEN_PARTS_MAX; parts++) {
        const part = elementAt(file, at, file.length)
        if (part === null) return false
        const block = part.id === SIMPLE_BLOCK || part.id === BLOCK ? blockAt(file, part.dataAt, part.end) : null
        if (block !== null && (this.sounds?.get(block.track) ?? null) !== null) return true
        at = part.id === BLOCK_GROUP ? part.dataAt : part.end
      }
      return true
    } catch (error) {
      if (error instanceof Unmeasured) return false
      throw error
    }
  }

  private segmentPart(element: EbmlElement): void {
    const { file } = this
    if (element.id === INFO) this.info(element)
    if (element.id !== TRACKS) return
    if (this.sounds !== null || this.clusters.size > 0) throw new Unmeasured()
    const sounds = [...webmTracks(file, element, this.limits)].map(([number, sum]) => {
      return [number, sum === null ? null : { sum, firstTime: undefined, statedSeconds: 0 }] as const
    })
    this.sounds = new Map(sounds)
  }

  private info(element: EbmlElement): void {
    let duration = 0
    if (this.clusters.size > 0) throw new Unmeasured()
    for (const part of partsOf(this.file, element)) {
      if (part.id === TICK_NANOSECONDS) this.tickSeconds = uintOf(this.file, part) / 1e9
      if (part.id === DURATION) duration = floatOf(this.file, part)
    }
    if (duration > 0) this.statedSeconds = Math.max(this.statedSeconds, duration * this.tickSeconds)
  }

  private clusterPart(element: EbmlElement): void {
    const { file } = this
    if (element.id === TIME && !element.isCut) this.clusterTime = uintOf(file, element)
    if (element.id === SIMPLE_BLOCK) this.block(element)
    if (element.id !== BLOCK_GROUP) return
    for (let at = element.dataAt; at < element.end; ) {
      const part = elementAt(file, at, element.end)
      if ((part === null || part.isCut) && !element.isCut) throw new Unmeasured()
      if (part === null) return
      if (part.isOpen) throw new Unmeasured()
      if (part.id === BLOCK) this.block(part)
      at = part.end
    }
  }

  private block({ dataAt, end, isCut }: EbmlElement): void {
    const { file } = this
    const block = blockAt(file, dataAt, end)
    if (block === null && !isCut) throw new Unmeasured()
    const sound = block === null ? null : this.sounds?.get(block.track)
    // Blocks of tracks that the file does not have are not played.
    if (block === null || sound === null || sound === undefined) return
    const before = sound.sum.duration(0).secondsMax
    for (const packet of packetsOf(file, block, end, isCut)) {
      this.places++
      this.budget.take(packet.length)
      if (!sound.sum.take(packet)) throw new Unmeasured()
    }
    const time = this.clusterTime + block.time
    sound.firstTime ??= time
    const stated = (time - sound.firstTime) * this.tickSeconds + sound.sum.duration(0).secondsMax - before
    sound.statedSeconds = Math.max(sound.statedSeconds, stated)
  }
}
