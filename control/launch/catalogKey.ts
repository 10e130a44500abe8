import { renameSync } from 'node:fs'
import { join } from 'node:path'
import { generateCatalogKey } from '../catalog/signing/catalogKey.ts'
import { knownKeyFile, provideKeyFile } from './keyFile.ts'

const FILE = 'catalog.key'
const NEXT_FILE = 'catalog.next.key'

/**
 * The key that signs the catalog: that of an earlier run, else a new one.
 * @param dataDir where it is kept, readable only by this user
 */
export function provideCatalogKey(dataDir: string): string {
  return provideKeyFile(dataDir, FILE, generateCatalogKey)
}

/** The key that `make run` made in a folder; undefined if it is missing or unreadable. */
export function knownCatalogKey(dataDir: string): string | undefined {
  return knownKeyFile(dataDir, FILE)
}

/** The next key for a folder: the one of an earlier rotation that was not completed, else a new one. */
export function provideNextCatalogKey(dataDir: string): string {
  return provideKeyFile(dataDir, NEXT_FILE, generateCatalogKey)
}

/** Replaces the present key, which is not needed any more, by the next one. */
export function takeNextCatalogKey(dataDir: string): void {
  renameSync(join(dataDir, NEXT_FILE), join(dataDir, FILE))
}
