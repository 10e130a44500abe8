import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { readBlocks } from './block.ts'
import { type EndingRecord, type OpeningRecord, parseRecord } from './records.ts'
import { segmentNumber } from './segmentFile.ts'

/** The content of a process's journal. */
export interface JournalContent {
  /** Requests that had their hold and have not ended. */
  readonly open: OpeningRecord[]
  /** By shard, in the order of their numbers. */
  readonly endings: ReadonlyMap<number, EndingRecord[]>
}

/**
 * Reads a journal. Memory and disk have the same records, or one of them has more where the other was cut short, so both are
 * read and duplicate records count once.
 * @param folders folders that do not exist count as empty
 * @throws the error of the file system for a folder that exists and cannot be read
 */
export async function readJournal(folders: readonly string[]): Promise<JournalContent> {
  const openings = new Map<string, OpeningRecord>()
  const endings = new Map<number, Map<number, EndingRecord>>()
  const ended = new Set<string>()
  for (const folder of folders) {
    for (const path of await segmentPaths(folder)) {
      for (const text of (await recordsIn(path)).records) {
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
  }
}

function inOrder(bySeq: ReadonlyMap<number, EndingRecord>): EndingRecord[] {
  return [...bySeq.values()].sort((a, b) => a.seq - b.seq)
}

async function recordsIn(path: string): Promise<ReturnType<typeof readBlocks>> {
  try {
    return readBlocks(await readFile(path))
  } catch (error) {
    // A segment that is no longer needed may be removed while the others are read.
    if (isMissing(error)) return readBlocks(Buffer.alloc(0))
    throw error
  }
}

async function segmentPaths(folder: string): Promise<string[]> {
  try {
    const names = await readdir(folder)
    return names
      .filter((name) => segmentNumber(name) !== undefined)
      .sort()
      .map((name) => join(folder, name))
  } catch (error) {
    if (isMissing(error)) return []
    throw error
  }
}

/** Whether an error of the file system means that the file does not exist. */
export function isMissing(error: unknown): boolean {
  return error instanceof Error && Reflect.get(error, 'code') === 'ENOENT'
}
