/** Writes WebM files by hand, as right and as wrong as a test wants them. */

/** A size that is not known. */
const OPEN = Buffer.from('01ffffffffffffff', 'hex')

/** @param id in hex */
export function element(id: string, ...data: readonly Buffer[]): Buffer {
  const body = Buffer.concat(data)
  const size = Buffer.alloc(8)
  size.writeBigUInt64BE(BigInt(body.length) | (1n << 56n))
  return Buffer.concat([Buffer.from(id, 'hex'), size, body])
}

/** An element whose size is not known, as recorders in browsers write it. */
export function openElement(id: string, ...data: readonly Buffer[]): Buffer {
  return Buffer.concat([Buffer.from(id, 'hex'), OPEN, ...data])
}

export function uint(id: string, value: number): Buffer {
  const bytes = Buffer.alloc(6)
  bytes.writeUIntBE(value, 0, 6)
  return element(id, bytes)
}

export const OPUS_HEAD = Buffer.concat([Buffer.from('OpusHead\x01\x01', 'latin1'), Buffer.alloc(9)])
/** 20 ms and 120 ms of Opus. */
export const OPUS_20 = Buffer.from([1 << 3, 0])
export const OPUS_120 = Buffer.from([(3 << 3) | 1, 0, 0])

export function trackEntry(number: number, type: number, codec: string, ...more: readonly Buffer[]): Buffer {
  return element('ae', uint('d7', number), uint('83', type), element('86', Buffer.from(codec)), ...more)
}

export const OPUS_TRACK = trackEntry(1, 2, 'A_OPUS', element('63a2', OPUS_HEAD))
export const VIDEO_TRACK = trackEntry(2, 1, 'V_VP8')

export interface BlockOptions {
  readonly track?: number
  readonly time?: number
  readonly lacing?: 'xiph' | 'ebml' | 'fixed'
}

/** The data of a block. */
export function blockData(packets: readonly Buffer[], { track = 1, time = 0, lacing }: BlockOptions = {}): Buffer {
  const head = Buffer.from([0x80 | track, time >> 8, time & 255, 0])
  if (lacing === undefined) return Buffer.concat([head, ...packets])
  head[3] = { xiph: 2, fixed: 4, ebml: 6 }[lacing]
  const sizes = packets.slice(0, -1).map(({ length }) => length)
  const lace = {
    xiph: () => sizes.flatMap((size) => [...new Array<number>(Math.floor(size / 255)).fill(255), size % 255]),
    // The first in one byte, then differences in one byte each.
    ebml: () => sizes.map((size, index) => 0x80 | (index === 0 ? size : size - (sizes[index - 1] ?? 0) + 63)),
    fixed: () => [],
  }[lacing]()
  return Buffer.concat([head, Buffer.from([packets.length - 1, ...lace]), ...packets])
}

export function simpleBlock(packets: readonly Buffer[], options: BlockOptions = {}): Buffer {
  return element('a3', blockData(packets, options))
}

export const WEBM_HEAD = element('1a45dfa3', uint('42f2', 4), uint('42f3', 8), element('4282', Buffer.from('webm')))

export interface WebmOptions {
  /** Sizes of the segment and of clusters are not known. */
  readonly open?: boolean
  readonly tracks?: readonly Buffer[]
  /** Further parts of the segment before the clusters. */
  readonly parts?: readonly Buffer[]
}

/** A file of these clusters, each a list of blocks with its time. */
export function webmFile(
  clusters: readonly (readonly [time: number, ...blocks: Buffer[]])[],
  options: WebmOptions = {},
): Buffer {
  const { open = false, tracks = [OPUS_TRACK], parts = [] } = options
  const write = open ? openElement : element
  const written = clusters.map(([time, ...blocks]) => write('1f43b675', uint('e7', time), ...blocks))
  return Buffer.concat([WEBM_HEAD, write('18538067', element('1654ae6b', ...tracks), ...parts, ...written)])
}
