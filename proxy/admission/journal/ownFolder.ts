import { lstatSync, mkdirSync, type Stats } from 'node:fs'
import { lstat, mkdir } from 'node:fs/promises'

const MODE = 0o700
const MODE_BITS = 0o777

/** The files of the journal settle charges, so nobody else may write, replace or read them. */
export class StrangeFolderError extends Error {}

/**
 * Makes a folder that this user alone can reach; an existing one has to be that. The folder that it is in has to exist.
 * @throws StrangeFolderError for one that others reach; the error of the file system
 */
export async function makeOwnFolder(path: string): Promise<void> {
  await mkdir(path, { mode: MODE }).catch(unlessExisting)
  await assertOwnFolder(path)
}

/** As `makeOwnFolder`, for a file system in memory, which does not keep the event loop waiting. */
export function makeOwnFolderSync(path: string): void {
  try {
    mkdirSync(path, { mode: MODE })
  } catch (error) {
    unlessExisting(error)
  }
  assertOwn(path, lstatSync(path))
}

/** @throws StrangeFolderError for a folder that others reach; the error of the file system */
export async function assertOwnFolder(path: string): Promise<void> {
  assertOwn(path, await lstat(path))
}

/** Whether a file or folder was made by this user. */
export function isOurs({ uid }: Pick<Stats, 'uid'>): boolean {
  return process.geteuid === undefined || uid === process.geteuid()
}

function assertOwn(path: string, stats: Stats): void {
  const fault = faultOf(stats)
  if (fault !== undefined) throw new StrangeFolderError(`${path} ${fault}`)
}

function faultOf(stats: Stats): string | undefined {
  const mode = stats.mode & MODE_BITS
  if (stats.isSymbolicLink()) return 'is a symbolic link'
  if (!stats.isDirectory()) return 'is not a folder'
  if (!isOurs(stats)) return `belongs to the user with the id ${stats.uid}`
  if (mode !== MODE) return `has the mode ${mode.toString(8).padStart(4, '0')} instead of 0700`
  return undefined
}

function unlessExisting(error: unknown): void {
  if (!(error instanceof Error) || Reflect.get(error, 'code') !== 'EEXIST') throw error
}
