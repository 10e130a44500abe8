const HEADER_BYTES = 10
const ID3V1_BYTES = 128
const APE_BYTES = 32
const LYRICS_BYTES = 15
const TAGS_MAX = 8

/**
 * The position after the ID3v2 tags (id3.org, ID3v2.4.0 structure, section 3) at the beginning of a file, consecutive
 * without a gap: players skip these and no others.
 */
export function behindFirstTags(file: Buffer): number {
  let at = 0
  for (let tags = 0; tags < TAGS_MAX; tags++) {
    const next = behindTag(file, at)
    if (next === at) break
    at = next
  }
  return Math.min(at, file.length)
}

/** The position after zeros, and further tags among them, at `from`. */
export function behindPadding(file: Buffer, from: number): number {
  let at = from
  for (let tags = 0; tags < TAGS_MAX; tags++) {
    while (at < file.length && file[at] === 0) at++
    const next = behindTag(file, at)
    if (next === at) break
    at = next
  }
  return Math.min(at, file.length)
}

/** The position after the ID3v2 tag at `at`; `at` itself when no tag is there. */
export function behindTag(file: Buffer, at: number): number {
  if (at + HEADER_BYTES > file.length || file.toString('latin1', at, at + 3) !== 'ID3') return at
  const size = [...file.subarray(at + 6, at + HEADER_BYTES)]
  if (size.some((byte) => byte > 127) || file[at + 3] === 255 || file[at + 4] === 255) return at
  const hasFooter = ((file[at + 5] as number) & 16) !== 0
  const bytes = size.reduce((sum, byte) => sum * 128 + byte, 0)
  return at + HEADER_BYTES + bytes + (hasFooter ? HEADER_BYTES : 0)
}

/**
 * The beginning of the ID3v1, APEv1, APEv2 and Lyrics3v2 tags at a file's end, as they declare it. Players search for sound
 * in them all the same.
 */
export function endBeforeTags(file: Buffer, start: number): number {
  let end = file.length
  for (let tags = 0; tags < TAGS_MAX; tags++) {
    const next = Math.max(start, end - tagBytes(file, end))
    if (next === end) return end
    end = next
  }
  return end
}

function tagBytes(file: Buffer, end: number): number {
  if (end >= ID3V1_BYTES && file.toString('latin1', end - ID3V1_BYTES, end - ID3V1_BYTES + 3) === 'TAG') {
    return ID3V1_BYTES
  }
  if (end >= APE_BYTES && file.toString('latin1', end - APE_BYTES, end - APE_BYTES + 8) === 'APETAGEX') {
    const hasHeader = file.readUInt32LE(end - 12) >= 2 ** 31
    const bytes = file.readUInt32LE(end - 20) + (hasHeader ? APE_BYTES : 0)
    return bytes <= end ? bytes : 0
  }
  if (end >= LYRICS_BYTES && file.toString('latin1', end - 9, end) === 'LYRICS200') {
    const digits = file.toString('latin1', end - LYRICS_BYTES, end - 9)
    const bytes = /^[0-9]{6}$/.test(digits) ? Number(digits) + LYRICS_BYTES : 0
    return bytes <= end ? bytes : 0
  }
  return 0
}
