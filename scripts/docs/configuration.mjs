import { readFileSync } from 'node:fs'
import { code, page, sentence, table } from './markdown.mjs'
import { SchemaTables } from './schemaTables.mjs'

function variable([name, stated], defs) {
  // Members next to a reference win, as the description of the variable.
  const schema = { ...defs[stated.$ref?.split('/').at(-1)], ...stated }
  const value = schema.errorMessage ?? (schema.type && `is a ${schema.type}`)
  if (value === undefined) throw new Error(`${name} says nothing about its values: it needs errorMessage or type`)
  const fallback = schema.default === undefined ? '' : code(JSON.stringify(schema.default))
  const required = schema.requiredBy === undefined ? 'no' : schema.requiredBy.join(', ')
  return [
    `### ${name}`,
    sentence(schema.description ?? ''),
    table(
      ['default', 'required by', 'read by', 'secret', 'value'],
      [[fallback, required, schema.readBy.join(', '), schema.writeOnly === true ? 'yes' : 'no', sentence(value)]],
    ),
  ]
}

/** docs/reference/configuration.md: the environment, and the payments file. */
export function configurationPage(root) {
  const read = (name) => JSON.parse(readFileSync(`${root}/contract/schemas/${name}.schema.json`, 'utf8'))
  const [environment, payments] = [read('environment'), read('payments')]
  const entries = Object.entries(environment.properties).filter(([, { readBy }]) => readBy.length > 0)
  const summary = entries.map(([name, { description = '' }]) => {
    return [`[${name}](#${name.toLowerCase()})`, sentence(description.split(/\. /)[0])]
  })
  const tables = new SchemaTables(payments)
  return page('Configuration', '`contract/schemas/environment.schema.json` and `payments.schema.json`', [
    'The programs are configured by environment variables; a variable that is empty counts as not set. A value that does not hold stops the start with a line that names the variable and says what it must be; values of secret variables are never repeated. Each secret variable can be in a file instead, as a mounted secret is: `NAME_FILE` has the path, and `NAME` is not set. Such a file is read when a program starts. An unknown variable that begins with `SLUICE_` is logged as `configuration_variable_unknown`.',
    'The catalog, that is providers, models and prices, has [its own file](catalog-file.md); bounds, timeouts and rate limits are [limits](limits.md).',
    '## Environment variables',
    table(['variable', 'meaning'], summary),
    ...entries.flatMap((entry) => variable(entry, environment.$defs)),
    '## The payments file',
    sentence(payments.description),
    tables.fields(payments, ''),
    ...tables.sections('###'),
  ])
}
