import { Unmeasured } from './soundTrack.ts'

const HEAD_BYTES = 8
const LARGE_HEAD_BYTES = 16
/** Boxes in one box. */
const CHILDREN_MAX = 4_096

/** A box of an MP4 file (ISO/IEC 14496-12, section 4.2). */
export interface Mp4Box {
  readonly type: string
  /** Of its head. */
  readonly start: number
  readonly dataAt: number
  /** Of its data; within the box or the file that it is in. */
  readonly end: number
}

/** The box whose head is at `at`; null when less than a head is left. @throws Unmeasured for a size that no box has */
export function boxAt(file: Buffer, at: number, limit: number): Mp4Box | null {
  if (at + HEAD_BYTES > limit) return null
  const type = file.toString('latin1', at + 4, at + 8)
  const size = file.readUInt32BE(at)
  if (size === 0) return { type, start: at, dataAt: at + HEAD_BYTES, end: limit }
  const isLarge = size === 1
  if (isLarge && at + LARGE_HEAD_BYTES > limit) return null
  const bytes = isLarge ? Number(file.readBigUInt64BE(at + HEAD_BYTES)) : size
  const headBytes = isLarge ? LARGE_HEAD_BYTES : HEAD_BYTES
  if (bytes < headBytes) throw new Unmeasured()
  return { type, start: at, dataAt: at + headBytes, end: Math.min(limit, at + bytes) }
}

/**
 * The boxes in a box.
 * @param from of the first one; the box's data where it has no fields
 */
export function boxesIn(file: Buffer, { dataAt, end }: Mp4Box, from = dataAt): readonly Mp4Box[] {
  const boxes: Mp4Box[] = []
  for (let at = from; ; ) {
    const box = boxAt(file, at, end)
    if (box === null) return boxes
    if (boxes.length >= CHILDREN_MAX) throw new Unmeasured()
    boxes.push(box)
    at = box.end
  }
}

/** The box of a type. @throws Unmeasured when there are several, of which players may choose another */
export function onlyBox(boxes: readonly Mp4Box[], type: string): Mp4Box | undefined {
  const [found, other] = boxes.filter((box) => box.type === type)
  if (other !== undefined) throw new Unmeasured()
  return found
}

/** The box of a type, which has to be there, with this many bytes of data. @throws Unmeasured */
export function requiredBox(boxes: readonly Mp4Box[], type: string, bytesMin: number): Mp4Box {
  const found = onlyBox(boxes, type)
  if (found === undefined || found.end - found.dataAt < bytesMin) throw new Unmeasured()
  return found
}

/** A table of a box: entries of equal size after their number. @throws Unmeasured when it is longer than the box */
export interface Mp4Table {
  readonly at: number
  readonly count: number
}

/** @param countAt of the number, within the data of the box */
export function tableIn(file: Buffer, box: Mp4Box, countAt: number, entryBytes: number): Mp4Table {
  const at = box.dataAt + countAt + 4
  if (at > box.end) throw new Unmeasured()
  const count = file.readUInt32BE(at - 4)
  if (count * entryBytes > box.end - at) throw new Unmeasured()
  return { at, count }
}

/** Whether the name of a type is in some bytes, as often as given at least. */
export function namesMore(bytes: Buffer, type: string, times: number): boolean {
  let found = 0
  for (let at = bytes.indexOf(type, 0, 'latin1'); at >= 0; at = bytes.indexOf(type, at + 1, 'latin1')) {
    if (++found > times) return true
  }
  return false
}
