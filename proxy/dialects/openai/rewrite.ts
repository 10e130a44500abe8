import { quoted } from '../../../contract/money/quoted.ts'
import type { OutBuffer } from '../../sse/outBuffer.ts'
import type { ChunkScan } from './chunkScan.ts'

const COMMA = 44
const ID_NAME = Buffer.from('"id":')
const MODEL_NAME = Buffer.from('"model":')
const SEPARATOR = Buffer.from(',')
/** The bytes before and after the JSON of an event. */
export const DATA = Buffer.from('data: ')
export const END = Buffer.from('\n\n')

/** The members that every chunk of an answer gets, as JSON strings: the request id and the public model id. */
export interface ChunkIdentity {
  readonly requestId: string
  readonly id: Buffer
  readonly model: Buffer
  /** The value of `object`, and the JSON text that replaces the one of the provider; null keeps the provider's. */
  readonly object: string
  readonly objectText: Buffer | null
}

/** The identity of a chat completion's chunks; providers agree on the value of `object`. */
export function chunkIdentity(requestId: string, publicModel: string): ChunkIdentity {
  return identity(requestId, publicModel, 'chat.completion.chunk', null)
}

/** The identity of a text completion's chunks; some providers call them something else. */
export function textIdentity(requestId: string, publicModel: string): ChunkIdentity {
  return identity(requestId, publicModel, 'text_completion', Buffer.from('"text_completion"'))
}

function identity(requestId: string, publicModel: string, object: string, objectText: Buffer | null): ChunkIdentity {
  return { requestId, id: Buffer.from(quoted(requestId)), model: Buffer.from(quoted(publicModel)), object, objectText }
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
 * Appends a scanned chunk as one event, with the id and model replaced and, on demand, `object` replaced and `usage`
 * left out; all other bytes are copied as they are.
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
  if (start <= scan.bodyStart && (scan.idStart < 0 || scan.modelStart < 0)) {
    out.append(bytes, from, scan.bodyStart)
    appendMissing(out, identity, scan.idStart < 0, scan.modelStart < 0)
    from = scan.bodyStart
  }
  const cutStart = dropUsage && scan.usageStart >= 0 ? cutFrom(bytes, scan) : -1
  const cutEnd = cutStart < 0 ? -1 : cutTo(bytes, scan, cutStart)
  const objectStart = identity.objectText === null ? -1 : scan.objectStart
  // The provider may write the members in any order; each iteration applies the next edit.
  for (;;) {
    const next = nextEdit(from, scan.idStart, scan.modelStart, cutStart, objectStart)
    if (next < 0 || next >= end) break
    out.append(bytes, from, next)
    if (next === scan.idStart) {
      out.appendAll(identity.id)
      from = scan.idEnd
    } else if (next === scan.modelStart) {
      out.appendAll(identity.model)
      from = scan.modelEnd
    } else if (next === objectStart && identity.objectText !== null) {
      out.appendAll(identity.objectText)
      from = scan.objectEnd
    } else {
      from = cutEnd
    }
  }
  out.append(bytes, from, end)
}

function nextEdit(from: number, a: number, b: number, c: number, d: number): number {
  let next = -1
  if (a >= from) next = a
  if (b >= from && (next < 0 || b < next)) next = b
  if (c >= from && (next < 0 || c < next)) next = c
  if (d >= from && (next < 0 || d < next)) next = d
  return next
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
