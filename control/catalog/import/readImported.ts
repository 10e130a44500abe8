import { readFile, stat, writeFile } from 'node:fs/promises'
import { basename } from 'node:path'
import { parse } from 'yaml'
import { FileError } from '../../runtime/files/yamlFile.ts'
import type { CatalogLimits } from '../limits.ts'
import type { Draft } from './draft.ts'

/**
 * Parses a file of another gateway, in YAML or JSON.
 * @throws FileError when it cannot be read, is too large or is neither
 */
export async function readImported(
  path: string,
  limits: Pick<CatalogLimits, 'importedFileBytesMax'>,
): Promise<unknown> {
  const name = basename(path)
  try {
    const { size } = await stat(path)
    if (size > limits.importedFileBytesMax) throw new Error(`it has more than ${limits.importedFileBytesMax} bytes`)
    const text = await readFile(path, 'utf8')
    // YAML of JSON is the same, but slower.
    return /^\s*[[{]/.test(text) ? JSON.parse(text) : parse(text)
  } catch (error) {
    throw new FileError([`${name}: ${error instanceof Error ? error.message : String(error)}`])
  }
}

/**
 * Writes the keys that the file of the other gateway had, as `NAME=value` lines which only their owner can read.
 * @throws an error of the file system, also when there is such a file
 */
export async function writeKeys(path: string, draft: Draft): Promise<void> {
  const lines = secretsOf(draft).map(({ env, secret }) => `${env}=${secret}\n`)
  await writeFile(path, lines.join(''), { mode: 0o600, flag: 'wx' })
}

/** The keys that the file had, with the variables that will have them. */
export function secretsOf(draft: Draft): { readonly env: string; readonly secret: string }[] {
  return [...draft.providers.values()]
    .flatMap(({ keys }) => keys)
    .flatMap(({ env, secret }) => (secret === undefined ? [] : [{ env, secret }]))
}
