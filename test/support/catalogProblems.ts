import assert from 'node:assert/strict'
import { parseCatalog } from '../../control/catalog/pricing/catalogFile.ts'
import { FileError } from '../../control/runtime/files/yamlFile.ts'

/** What is wrong with the text of a catalog file. */
export function problemsOf(text: string): readonly string[] {
  try {
    parseCatalog('catalog.yaml', text)
  } catch (error) {
    assert.ok(error instanceof FileError, String(error))
    return error.problems
  }
  return []
}
