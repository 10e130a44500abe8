import { mkdir } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { ProxyConfig } from '../../config.ts'
import { makeOwnFolder, makeOwnFolderSync, StrangeFolderError } from './ownFolder.ts'

/**
 * Makes the folders that the journals of this installation are in, before anything is read from them.
 * @throws Error that names the folder, what is wrong with it, and what to change; the error of the file system
 */
export async function provideJournalFolders(
  config: Pick<ProxyConfig, 'journalFolder' | 'journalMemoryFolder'>,
): Promise<void> {
  const { journalFolder, journalMemoryFolder } = config
  await mkdir(dirname(journalFolder), { recursive: true, mode: 0o700 })
  await provide(journalFolder, 'SLUICE_DATA')
  if (journalMemoryFolder !== null) await provide(journalMemoryFolder, 'SLUICE_JOURNAL_MEMORY')
}

async function provide(folder: string, variable: string): Promise<void> {
  try {
    await makeOwnFolder(folder)
  } catch (error) {
    if (!(error instanceof StrangeFolderError)) throw error
    const what = `the folder of the journal ${error.message}, so that other users could write charges into it`
    const change = `Make it a folder of this user with mode 0700, remove it if it is not yours, or change ${variable}`
    throw new Error(`${what}. ${change}.`)
  }
}

/** Makes the folder of one process's journal. @throws StrangeFolderError for one that others reach; the error of the file system */
export async function makeJournalFolder(folder: string): Promise<void> {
  await makeOwnFolder(dirname(folder))
  await makeOwnFolder(folder)
}

/** As `makeJournalFolder`, for a file system in memory. */
export function makeJournalFolderSync(folder: string): void {
  makeOwnFolderSync(dirname(folder))
  makeOwnFolderSync(folder)
}
