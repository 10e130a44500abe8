import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse, parseAllDocuments } from 'yaml'
import { isJsonObject, type JsonObject } from '../../../contract/std/jsonObject.ts'
import { projectRoot } from '../../../control/launch/paths.ts'
import type { KubernetesObject } from './kubernetes.ts'

const HELM = join(projectRoot, 'deploy/helm')
const CHART = join(HELM, 'sluice')
/** A line that only has an action, with the white space before it that `{{-` takes away, or an action within a line. */
const ACTION = /\s*\{\{- (if|end)(.*?) \}\}|\{\{ (.*?) \}\}/g

/** The functions of Helm that the chart calls. */
const FUNCTIONS: Readonly<Record<string, (...args: unknown[]) => unknown>> = {
  toJson: (value) => JSON.stringify(sorted(value)),
  quote: (value) => JSON.stringify(String(value)),
  sha256sum: (value) => createHash('sha256').update(String(value)).digest('hex'),
  printf: (format, ...values) => String(format).replace(/%s/g, () => String(values.shift())),
}

/** The values of the chart. @param file of deploy/helm whose values are merged with them */
export function chartValues(file?: string): JsonObject {
  const own = parse(readFileSync(join(CHART, 'values.yaml'), 'utf8')) as JsonObject
  return file === undefined ? own : merged(own, parse(readFileSync(join(HELM, file), 'utf8')) as JsonObject)
}

/** The text of a file of the chart. */
export function chartFile(name: string): string {
  return readFileSync(join(CHART, name), 'utf8')
}

/** The objects that the chart makes of values. Only what its templates use of the language is read. */
export function renderChart(values: JsonObject): KubernetesObject[] {
  return readdirSync(join(CHART, 'templates'))
    .flatMap((name) => parseAllDocuments(rendered(chartFile(`templates/${name}`), values)))
    .map((document) => document.toJS() as KubernetesObject | null)
    .filter((object) => object !== null)
}

function rendered(template: string, values: JsonObject): string {
  let text = ''
  let from = 0
  const shown: boolean[] = []
  for (const match of template.matchAll(ACTION)) {
    const [whole, keyword, condition = '', pipeline = ''] = match
    if (!shown.includes(false)) text += template.slice(from, match.index)
    from = match.index + whole.length
    if (keyword === 'if') shown.push(isTrue(condition.trim(), values))
    else if (keyword === 'end') shown.pop()
    else if (!shown.includes(false)) text += String(resultOf(pipeline, values))
  }
  return text + template.slice(from)
}

function isTrue(condition: string, values: JsonObject): boolean {
  return condition.startsWith('not ')
    ? resultOf(condition.slice('not '.length), values) !== true
    : resultOf(condition, values) === true
}

function resultOf(pipeline: string, values: JsonObject): unknown {
  let result: unknown[] = []
  for (const command of pipeline.split(' | ')) {
    const [first = '', ...rest] = command.match(/"[^"]*"|\S+/g) ?? []
    const args = rest.map((word) => (word.startsWith('.') ? placed(word, values) : (JSON.parse(word) as unknown)))
    const call = FUNCTIONS[first]
    if (call === undefined && !first.startsWith('.')) throw new Error(`the chart calls ${first}`)
    result = [call === undefined ? placed(first, values) : call(...args, ...result)]
  }
  return result[0]
}

function placed(path: string, values: JsonObject): unknown {
  const names = path.split('.').slice(2)
  if (!path.startsWith('.Values.')) throw new Error(`the chart reads ${path}`)
  const found = names.reduce<unknown>((value, name) => (isJsonObject(value) ? value[name] : undefined), values)
  if (found === undefined) throw new Error(`there is no value ${path}`)
  return found
}

/** Maps are merged, and anything else is replaced, as Helm does with the values of its caller. */
function merged(own: JsonObject, given: JsonObject): JsonObject {
  const both = Object.entries(given).map(([name, value]): [string, unknown] => {
    const before = own[name]
    return [name, isJsonObject(before) && isJsonObject(value) ? merged(before, value) : value]
  })
  return { ...own, ...Object.fromEntries(both) }
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (!isJsonObject(value)) return value
  return Object.fromEntries(
    Object.keys(value)
      .sort()
      .map((name) => [name, sorted(value[name])]),
  )
}
