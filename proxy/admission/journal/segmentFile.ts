import { closeSync, openSync, unlinkSync, writeSync } from 'node:fs'
import { type FileHandle, open, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { makeJournalFolder, makeJournalFolderSync } from './journalFolders.ts'

const NAME_DIGITS = 8
const NAME = /^([0-9]{8})\.journal$/

/** The name of a journal's file; names sort by number. */
export function segmentName(number: number): string {
  return `${String(number).padStart(NAME_DIGITS, '0')}.journal`
}

/** @returns undefined for a file that is not a segment */
export function segmentNumber(name: string): number | undefined {
  const match = NAME.exec(name)
  return match === null ? undefined : Number(match[1])
}

/** A segment in memory (tmpfs): written in the turn itself, because that never waits for a device. */
export class MemorySegment {
  private readonly path: string
  private readonly file: number

  /** @throws the error of the file system */
  constructor(folder: string, number: number) {
    makeJournalFolderSync(folder)
    this.path = join(folder, segmentName(number))
    this.file = openSync(this.path, 'ax', 0o600)
  }

  /** @throws the error of the file system; part of the block may be there */
  write(block: Buffer): void {
    for (let at = 0; at < block.length; ) at += writeSync(this.file, block, at)
  }

  close(): void {
    closeSync(this.file)
  }

  remove(): void {
    unlinkSync(this.path)
  }
}

/** A segment on a disk. Every call rejects with the error of the file system. */
export interface DiskFile {
  write(bytes: Buffer): Promise<void>
  /** Resolves once all written data is on the device itself. */
  sync(): Promise<void>
  close(): Promise<void>
  remove(): Promise<void>
}

/** A segment on disk: written by the thread pool, so that a slow device delays only callers that wait for it. */
export class DiskSegment implements DiskFile {
  private readonly path: string
  private readonly handle: FileHandle

  private constructor(path: string, handle: FileHandle) {
    this.path = path
    this.handle = handle
  }

  static async create(folder: string, number: number): Promise<DiskSegment> {
    await makeJournalFolder(folder)
    const path = join(folder, segmentName(number))
    return new DiskSegment(path, await open(path, 'ax', 0o600))
  }

  async write(bytes: Buffer): Promise<void> {
    for (let at = 0; at < bytes.length; ) at += (await this.handle.write(bytes, at)).bytesWritten
  }

  sync(): Promise<void> {
    return this.handle.datasync()
  }

  close(): Promise<void> {
    return this.handle.close()
  }

  remove(): Promise<void> {
    return unlink(this.path)
  }
}
