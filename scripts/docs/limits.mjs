import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { CLIENT_LIMITS } from '../../dist/contract/limits/clientLimits.js'
import { SHARED_LIMITS } from '../../dist/contract/limits/sharedLimits.js'
import { unitOf } from '../../dist/contract/limits/unitOf.js'
import { CONTROL_LIMITS } from '../../dist/control/limits.js'
import { PROXY_LIMITS } from '../../dist/proxy/limits.js'
import { FLOORS } from '../layering.mjs'
import { code, page, sentence, table } from './markdown.mjs'

const ENTRY = /\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\s*(\w+):\s*[^/\n]*,|^ {2}\/\/ (.+)$/gm
/** The groups of a source of limits: a heading from its `//` comments, and the comment of each name. */
function groupsOf(path) {
  const groups = [{ title: '', names: new Map() }]
  for (const [, comment, name, title] of readFileSync(path, 'utf8').matchAll(ENTRY)) {
    if (title !== undefined) groups.push({ title, names: new Map() })
    else groups.at(-1).names.set(name, comment.replace(/\s*\n\s*\*\s*/g, ' ').trim())
  }
  return groups
}

function tablesOf(path, values, prefix) {
  const left = new Set(Object.keys(values))
  const blocks = groupsOf(path).flatMap(({ title, names }) => {
    const rows = [...names].filter(([name]) => left.delete(name))
    if (rows.length === 0) return []
    const shown = rows.map(([name, text]) => [code(prefix + name), unitOf(name), group(values[name]), sentence(text)])
    return [...(title === '' ? [] : [sentence(title)]), table(['limit', 'unit', 'default', 'bounds'], shown)]
  })
  return { blocks, left }
}

/** Digits in groups of three. */
function group(value) {
  return String(value).replace(/\B(?=(\d{3})+$)/g, ',')
}

function checked(path, values, prefix) {
  const { blocks, left } = tablesOf(path, values, prefix)
  if (left.size > 0) throw new Error(`${path}: no comment for ${[...left].join(', ')}`)
  return blocks
}

/** A section for each folder of a part that has a table of limits. */
function sections(root, part, folders, values) {
  const missing = new Set(Object.keys(values))
  const shown = folders.flatMap((folder) => {
    const { blocks, left } = tablesOf(`${root}/${part}/${folder}/limits.ts`, values, `${part}.`)
    for (const name of missing) if (!left.has(name)) missing.delete(name)
    return blocks.length === 0 ? [] : [`### ${part}/${folder}`, ...blocks]
  })
  if (missing.size > 0) throw new Error(`${part}: no comment for ${[...missing].join(', ')}`)
  return shown
}

/** docs/reference/limits.md: every bound with its unit and its default. */
export function limitsPage(root) {
  const floors = FLOORS.filter((floor) => existsSync(`${root}/control/${floor}/limits.ts`))
  const rooms = readdirSync(`${root}/proxy`, { recursive: true })
    .filter((path) => path.endsWith('/limits.ts'))
    .map((path) => dirname(path))
    .sort()
  return page('Limits', '`contract/limits/`, and `limits.ts` of the folders of `proxy` and `control`', [
    'Every queue, buffer, timeout, retry and loop of the gateway has a bound in these tables. Clients read the rate limits, sizes and timeouts that concern them at `GET /v1/limits`.',
    'An operator changes a limit with the environment variable `SLUICE_LIMITS`, a JSON object of positive integers. Limits of one part alone stand below its name:',
    '```json\n{ "requestsPerMinute": 6000, "proxy": { "breakerFailures": 10 }, "control": { "batchPollMs": 5000 } }\n```',
    'An unknown name or a value that is not a positive integer stops the start with a message that names it. Give the proxy and control the same value of the variable.',
    '## Limits that clients meet: rate limits, sizes, timeouts',
    ...checked(`${root}/contract/limits/clientLimits.ts`, CLIENT_LIMITS, ''),
    '## Limits that proxy and control share',
    ...checked(`${root}/contract/limits/sharedLimits.ts`, SHARED_LIMITS, ''),
    '## Limits of the proxy: backpressure, keep-alive, failover, circuit breaker, drain',
    ...sections(root, 'proxy', rooms, PROXY_LIMITS),
    '## Limits of control',
    ...sections(root, 'control', floors, CONTROL_LIMITS),
  ])
}
