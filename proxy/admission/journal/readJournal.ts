import { constants } from 'node:fs'
import { open, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { readBlocks } from './block.ts'
import { assertOwnFolder, isOurs, StrangeFolderError } from './ownFolder.ts'
import { type EndingRecord, type OpeningRecord, parseRecord } from './records.ts'
import { segmentNumber } from './segmentFile.ts'

/** No link is followed, and nothing is waited for, as it would be at a pipe. */
const AS_IT_IS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK

/** The content of a process's journal. */
export interface JournalContent {
  /** Requests that had their hold and have not ended. */
  readonly open: OpeningRecord[]
  /** By shard, in the order of their numbers. */
  readonly endings: ReadonlyMap<number, EndingRecord[]>
}

/** The content, and the parts that are not in it. */
export interface ReadJournal extends JournalContent {
  /** Parts that were not read, each with its reason: files and folders of others, links, and files that no key verifies. */
  readonly unread: readonly string[]
}

/** A file of a journal. */
interface ReadSegment {
  readonly records: readonly string[]
  /** Why it was not read. */
  readonly fault?: string
}

/**
 * Reads a journal. Memory and disk have the same records, or one of them has more where the other was cut short, so both are
 * read and duplicate records count once.
 * @param folders folders that do not exist count as empty
 * @param keys of the journal's owner
 * @throws the error of the file system for a folder that exists and cannot be read
 */
export async function readJournal(folders: readonly string[], keys: readonly Buffer[]): Promise<ReadJournal> {
  const openings = new Map<string, OpeningRecord>()
  const endings = new Map<number, Map<number, EndingRecord>>()
  const ended = new Set<string>()
  const unread: string[] = []
  for (const folder of folders) {
    const { paths, fault } = await segmentPaths(folder)
    if (fault !== undefined) unread.push(fault)
    for (const path of paths) {
      const segment = await readSegment(path, keys)
      if (segment.fault !== undefined) unread.push(`${path} ${segment.fault}`)
      for (const text of segment.records) {
        const record = parseRecord(text)
        if (record?.kind === 'opening') openings.set(record.requestId, record)
        if (record?.kind !== 'ending') continue
        ended.add(record.requestId)
        const ofShard = endings.get(record.shard) ?? new Map<number, EndingRecord>()
        endings.set(record.shard, ofShard.set(record.seq, record))
      }
    }
  }
  return {
    open: [...openings.values()].filter(({ requestId }) => !ended.has(requestId)),
    endings: new Map([...endings].map(([shard, bySeq]) => [shard, inOrder(bySeq)])),
    unread,
  }
}

function inOrder(bySeq: ReadonlyMap<number, EndingRecord>): EndingRecord[] {
  return [...bySeq.values()].sort((a, b) => a.seq - b.seq)
}

async function readSegment(path: string, keys: readonly Buffer[]): Promise<ReadSegment> {
  try {
    const file = await open(path, AS_IT_IS)
    try {
      const stats = await file.stat()
      if (!stats.isFile() || !isOurs(stats)) return { records: [], fault: 'is no file of this user' }
      const { records, isForeign } = readBlocks(await file.readFile(), keys)
      return isForeign ? { records, fault: 'was not written with a key of SLUICE_BUS_KEY' } : { records }
    } finally {
      await file.close()
    }
  } catch (error) {
    // A segment that is no longer needed may be removed while the others are read.
    if (isMissing(error)) return { records: [] }
    if (hasCode(error, 'ELOOP')) return { records: [], fault: 'is a symbolic link' }
    throw error
  }
}

async function segmentPaths(folder: string): Promise<{ paths: readonly string[]; fault?: string }> {
  try {
    await assertOwnFolder(folder)
    const names = (await readdir(folder)).filter((name) => segmentNumber(name) !== undefined)
    return { paths: names.sort().map((name) => join(folder, name)) }
  } catch (error) {
    if (error instanceof StrangeFolderError) return { paths: [], fault: error.message }
    if (isMissing(error)) return { paths: [] }
    throw error
  }
}

/** Whether an error of the file system means that the file does not exist. */
export function isMissing(error: unknown): boolean {
  return hasCode(error, 'ENOENT')
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && Reflect.get(error, 'code') === code
}
