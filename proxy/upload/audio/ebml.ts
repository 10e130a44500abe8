import { Unmeasured } from './soundTrack.ts'

/** An element of a Matroska file (RFC 8794). */
export interface EbmlElement {
  readonly id: number
  readonly dataAt: number
  /** Of its data; within the element that it is in. */
  readonly end: number
  /** It ends with what follows it, at the latest with the element that it is in. */
  readonly isOpen: boolean
  /** It states more than there is. */
  readonly isCut: boolean
}

/**
 * The element at `at`; null when less than its head is left.
 * @param limit of the element that it is in
 * @throws Unmeasured for a head that no element has
 */
export function elementAt(file: Buffer, at: number, limit: number): EbmlElement | null {
  if (at >= limit) return null
  const idBytes = lengthOf(file[at] as number)
  if (idBytes > 4) throw new Unmeasured()
  const sizeAt = at + idBytes
  if (sizeAt >= limit) return null
  const sizeBytes = lengthOf(file[sizeAt] as number)
  const dataAt = sizeAt + sizeBytes
  if (sizeBytes > 8) throw new Unmeasured()
  if (dataAt > limit) return null
  const id = file.readUIntBE(at, idBytes)
  const size = variableAt(file, sizeAt, sizeBytes)
  const isOpen = size === 2 ** (7 * sizeBytes) - 1
  const isCut = !isOpen && size > limit - dataAt
  return { id, dataAt, end: isOpen || isCut ? limit : dataAt + size, isOpen, isCut }
}

/** The bytes of a number by its first one; more than 8 for none. */
export function lengthOf(first: number): number {
  return Math.clz32(first) - 23
}

/** A number of variable length, without the mark of its length; beyond 2^53 it is rounded. */
export function variableAt(file: Buffer, at: number, bytes: number): number {
  let value = (file[at] as number) & (2 ** (8 - bytes) - 1)
  for (let place = 1; place < bytes; place++) value = value * 256 + (file[at + place] as number)
  return value
}

/** An unsigned number of at most eight bytes. */
export function uintOf(file: Buffer, { dataAt, end }: EbmlElement): number {
  if (end - dataAt > 8) throw new Unmeasured()
  let value = 0
  for (let at = dataAt; at < end; at++) value = value * 256 + (file[at] as number)
  return value
}

export function floatOf(file: Buffer, { dataAt, end }: EbmlElement): number {
  const bytes = end - dataAt
  if (bytes === 4) return file.readFloatBE(dataAt)
  if (bytes === 8) return file.readDoubleBE(dataAt)
  if (bytes === 0) return 0
  throw new Unmeasured()
}
