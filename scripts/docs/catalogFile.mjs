import { readFileSync } from 'node:fs'
import { page, sentence } from './markdown.mjs'
import { SchemaTables } from './schemaTables.mjs'

/** docs/reference/catalog-file.md: the fields of the catalog. */
export function catalogFilePage(root) {
  const schema = JSON.parse(readFileSync(`${root}/contract/schemas/catalog.schema.json`, 'utf8'))
  const tables = new SchemaTables(schema)
  return page('Catalog file', '`contract/schemas/catalog.schema.json`', [
    sentence(schema.description),
    'A file that does not hold changes nothing: `npm run -s sluice -- catalog check FILE` and every start name the line and the reason. Editors that know YAML schemas complete and explain the fields by the first line of `catalog.yaml`.',
    tables.fields(schema, ''),
    ...tables.sections(),
  ])
}
