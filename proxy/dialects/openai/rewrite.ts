import { quoted } from '../../../contract/money/quoted.ts'
import { digitsEnd } from '../../json/soundJson.ts'
import type { OutBuffer } from '../../sse/outBuffer.ts'
import type { ChunkScan } from './chunkScan.ts'

const COMMA = 44
const ID_NAME = Buffer.from('"id":')
const MODEL_NAME = Buffer.from('"model":')
const OBJECT_NAME = Buffer.from('"object":')
const CREATED_NAME = Buffer.from('"created":')
const SEPARATOR = Buffer.from(',')
/** Of a time in seconds or milliseconds. */
const DIGITS_MAX = 15
/** The bytes before and after the JSON of an event. */
export const DATA = Buffer.from('data: ')
export const END = Buffer.from('\n\n')

/** The members that every chunk of an answer gets, as JSON: the request id and the public model id. */
export interface ChunkIdentity {
  readonly requestId: string
  readonly id: Buffer
  readonly model: Buffer
  /** The value of `object`, as text and as JSON: some providers call chunks something else, or leave it out. */
  readonly object: string
  readonly objectText: Buffer
  readonly isText: boolean
  /** When the request arrived, in seconds: for chunks without a time that is a whole number, which typed clients demand. */
  readonly created: string
}

/** The identity of a chat completion's chunks. */
export function chunkIdentity(requestId: string, publicModel: string, startedAtMs: number): ChunkIdentity {
  return identity(requestId, publicModel, 'chat.completion.chunk', startedAtMs)
}

/** The identity of a text completion's chunks. */
export function textIdentity(requestId: string, publicModel: string, startedAtMs: number): ChunkIdentity {
  return identity(requestId, publicModel, TEXT, startedAtMs)
}

const TEXT = 'text_completion'

function identity(requestId: string, publicModel: string, object: string, startedAtMs: number): ChunkIdentity {
  return {
    requestId,
    id: Buffer.from(quoted(requestId)),
    model: Buffer.from(quoted(publicModel)),
    object,
    objectText: Buffer.from(quoted(object)),
    isText: object === TEXT,
    created: String(Math.floor(startedAtMs / 1_000)),
  }
}

/** Appends the members that an object lacks, for its beginning: each is followed by a comma. */
export function appendMissing(
  out: OutBuffer,
  { id, model }: ChunkIdentity,
  lacksId: boolean,
  lacksModel: boolean,
): void {
  if (lacksId) appendMember(out, ID_NAME, id)
  if (lacksModel) appendMember(out, MODEL_NAME, model)
}

function appendMember(out: OutBuffer, name: Buffer, value: Buffer): void {
  out.appendAll(name)
  out.appendAll(value)
  out.appendAll(SEPARATOR)
}

/**
 * Appends a scanned chunk as one event, with the id and model replaced and, where they are not as the format has them, `object` and
 * `created`; on demand `usage` is left out; all other bytes are copied as they are.
 */
export function appendChunk(
  out: OutBuffer,
  bytes: Buffer,
  start: number,
  end: number,
  scan: ChunkScan,
  identity: ChunkIdentity,
  dropUsage: boolean,
): void {
  out.appendAll(DATA)
  appendPart(out, bytes, start, end, scan, identity, dropUsage)
  out.appendAll(END)
}

/** Appends bytes [start, end) of a scanned chunk with the edits within them. No edit may cross their bounds. */
export function appendPart(
  out: OutBuffer,
  bytes: Buffer,
  start: number,
  end: number,
  scan: ChunkScan,
  identity: ChunkIdentity,
  dropUsage: boolean,
): void {
  let from = start
  if (
    start <= scan.bodyStart &&
    (scan.idStart < 0 || scan.modelStart < 0 || scan.objectStart < 0 || scan.createdStart < 0)
  ) {
    out.append(bytes, from, scan.bodyStart)
    appendMissing(out, identity, scan.idStart < 0, scan.modelStart < 0)
    if (scan.objectStart < 0) appendMember(out, OBJECT_NAME, identity.objectText)
    if (scan.createdStart < 0) appendMember(out, CREATED_NAME, Buffer.from(identity.created))
    from = scan.bodyStart
  }
  const cutStart = dropUsage && scan.usageStart >= 0 ? cutFrom(bytes, scan) : -1
  const cutEnd = cutStart < 0 ? -1 : cutTo(bytes, scan, cutStart)
  const isSound = scan.hasSoundHead
  const objectStart = isSound || hasObject(bytes, scan, identity) ? -1 : scan.objectStart
  const createdStart = isSound || hasTime(bytes, scan) ? -1 : scan.createdStart
  // The provider may write the members in any order; each iteration applies the next edit.
  for (;;) {
    const next = nextEdit(from, scan.idStart, scan.modelStart, cutStart, objectStart, createdStart)
    if (next < 0 || next >= end) break
    out.append(bytes, from, next)
    if (next === scan.idStart) {
      out.appendAll(identity.id)
      from = scan.idEnd
    } else if (next === scan.modelStart) {
      out.appendAll(identity.model)
      from = scan.modelEnd
    } else if (next === objectStart) {
      out.appendAll(identity.objectText)
      from = scan.objectEnd
    } else if (next === createdStart) {
      out.appendText(identity.created)
      from = scan.createdEnd
    } else {
      from = cutEnd
    }
  }
  out.append(bytes, from, end)
}

function nextEdit(from: number, a: number, b: number, c: number, d: number, e: number): number {
  let next = -1
  if (a >= from) next = a
  if (b >= from && (next < 0 || b < next)) next = b
  if (c >= from && (next < 0 || c < next)) next = c
  if (d >= from && (next < 0 || d < next)) next = d
  if (e >= from && (next < 0 || e < next)) next = e
  return next
}

/** Whether the object and the time of a scanned chunk are as the format has them. */
export function hasSoundHead(bytes: Buffer, scan: ChunkScan, identity: ChunkIdentity): boolean {
  return hasObject(bytes, scan, identity) && hasTime(bytes, scan)
}

function hasObject(bytes: Buffer, { objectStart, objectEnd }: ChunkScan, { objectText }: ChunkIdentity): boolean {
  return objectStart >= 0 && objectText.compare(bytes, objectStart, objectEnd) === 0
}

function hasTime(bytes: Buffer, { createdStart, createdEnd }: ChunkScan): boolean {
  return isWholeNumber(bytes, createdStart, createdEnd)
}

/** Whether a value is a whole number in digits. */
export function isWholeNumber(bytes: Buffer, start: number, end: number): boolean {
  return start >= 0 && end - start <= DIGITS_MAX && digitsEnd(bytes, start, end) === end
}

// `usage` is removed with the comma before it, or, as the first member, with the one after it.
function cutFrom(bytes: Buffer, scan: ChunkScan): number {
  let at = scan.usageNameStart - 1
  while (at > scan.bodyStart && (bytes[at] as number) <= 32) at--
  return bytes[at] === COMMA && at >= scan.bodyStart ? at : scan.usageNameStart
}

function cutTo(bytes: Buffer, scan: ChunkScan, cutStart: number): number {
  if (cutStart < scan.usageNameStart) return scan.usageEnd
  let at = scan.usageEnd
  while ((bytes[at] as number) <= 32) at++
  return bytes[at] === COMMA ? at + 1 : scan.usageEnd
}
