import assert from 'node:assert/strict'
import { parseCatalog } from '../../control/catalog/pricing/catalogFile.ts'
import { CatalogError } from '../../control/catalog/pricing/yamlReader.ts'

/** What is wrong with the text of a catalog file. */
export function problemsOf(text: string): readonly string[] {
  try {
    parseCatalog('catalog.yaml', text)
  } catch (error) {
    assert.ok(error instanceof CatalogError, String(error))
    return error.problems
  }
  return []
}
