// Loaded into a proxy before its own code (`node --import`): makes the files of its journal fail as the file `faults.json`
// in its data folder says at that moment.
import fs, { readFileSync } from 'node:fs'
import promises, { type FileHandle } from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type DiskFault, FAULTS_FILE, type JournalFaults } from './journalFaults.ts'

const SLOW_MS = 3_000
const dataFolder = process.env['SLUICE_DATA'] ?? ''

function faultOf(place: keyof JournalFaults): DiskFault | undefined {
  try {
    return (JSON.parse(readFileSync(join(dataFolder, FAULTS_FILE), 'utf8')) as JournalFaults)[place]
  } catch {
    return undefined
  }
}

function failure(code: string): Error {
  return Object.assign(new Error(`${code}: made by a test`), { code })
}

/** Bytes that are written before the fault shows: a full disk takes a part of a block. */
function roomFor(fault: DiskFault, length: number): number {
  if (fault !== 'ENOSPC' || length < 2) throw failure(fault)
  return length >> 1
}

const isDisk = (path: unknown): boolean => dirname(dirname(String(path))) === join(dataFolder, 'journal')
const isMemory = (path: unknown): boolean => dirname(dirname(dirname(String(path)))) === dataFolder && !isDisk(path)

const memoryFiles = new Set<number>()
const { openSync, closeSync, writeSync } = fs
const { open } = promises

fs.openSync = (path, ...more) => {
  if (isMemory(path) && faultOf('memory') === 'EROFS') throw failure('EROFS')
  const file = openSync(path, ...more)
  if (isMemory(path)) memoryFiles.add(file)
  return file
}
fs.closeSync = (file) => {
  memoryFiles.delete(file)
  closeSync(file)
}
fs.writeSync = ((file: number, bytes: Buffer, at: number, ...more: []) => {
  const fault = memoryFiles.has(file) ? faultOf('memory') : undefined
  if (fault === 'slow') Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, SLOW_MS)
  if (fault === undefined || fault === 'slow') return writeSync(file, bytes, at, ...more)
  return writeSync(file, bytes, at, roomFor(fault, bytes.length - at))
}) as typeof fs.writeSync

promises.open = async (path, ...more) => {
  const isRead = typeof more[0] === 'number'
  if (isDisk(path) && !isRead && faultOf('disk') === 'EROFS') throw failure('EROFS')
  const handle = await open(path, ...more)
  return isDisk(path) ? faulty(handle) : handle
}
syncBuiltinESMExports()

function faulty(handle: FileHandle): FileHandle {
  const write = handle.write.bind(handle) as (bytes: Buffer, at: number, length?: number) => Promise<unknown>
  const fail = async (bytes: Buffer, at = 0): Promise<unknown> => {
    const fault = faultOf('disk')
    if (fault === 'slow') await sleep(SLOW_MS)
    if (fault === undefined || fault === 'slow') return write(bytes, at)
    return write(bytes, at, roomFor(fault, bytes.length - at))
  }
  handle.write = fail as FileHandle['write']
  return handle
}
