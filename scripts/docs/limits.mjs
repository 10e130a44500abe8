import { existsSync, readFileSync } from 'node:fs'
import { CLIENT_LIMITS } from '../../dist/contract/limits/clientLimits.js'
import { SHARED_LIMITS } from '../../dist/contract/limits/sharedLimits.js'
import { unitOf } from '../../dist/contract/limits/unitOf.js'
import { CONTROL_LIMITS } from '../../dist/control/limits.js'
import { PROXY_LIMITS } from '../../dist/proxy/limits.js'
import { UPLOAD_LIMITS } from '../../dist/proxy/upload/limits.js'
import { FLOORS } from '../layering.mjs'
import { code, page, sentence, table } from './markdown.mjs'

const PROXY_OWN = Object.fromEntries(Object.entries(PROXY_LIMITS).filter(([name]) => !(name in UPLOAD_LIMITS)))
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

/** docs/reference/limits.md: every bound with its unit and its default. */
export function limitsPage(root) {
  const floors = FLOORS.filter((floor) => existsSync(`${root}/control/${floor}/limits.ts`))
  const control = floors.map((floor) => {
    const path = `control/${floor}/limits.ts`
    const { blocks } = tablesOf(`${root}/${path}`, CONTROL_LIMITS, 'control.')
    return blocks.length === 0 ? [] : [`### control/${floor}`, ...blocks]
  })
  return page('Limits', '`contract/limits/`, `proxy/limits.ts`, `proxy/upload/limits.ts` and `control/*/limits.ts`', [
    'Every queue, buffer, timeout, retry and loop of the gateway has a bound in these tables. Clients read the rate limits, sizes and timeouts that concern them at `GET /v1/limits`.',
    'An operator changes a limit with the environment variable `SLUICE_LIMITS`, a JSON object of positive integers. Limits of one part alone stand below its name:',
    '```json\n{ "requestsPerMinute": 6000, "proxy": { "breakerFailures": 10 }, "control": { "batchPollMs": 5000 } }\n```',
    'An unknown name or a value that is not a positive integer stops the start with a message that names it. Give the proxy and control the same value of the variable.',
    '## Limits that clients meet: rate limits, sizes, timeouts',
    ...checked(`${root}/contract/limits/clientLimits.ts`, CLIENT_LIMITS, ''),
    '## Limits that proxy and control share',
    ...checked(`${root}/contract/limits/sharedLimits.ts`, SHARED_LIMITS, ''),
    '## Limits of the proxy: backpressure, keep-alive, failover, circuit breaker, drain',
    ...checked(`${root}/proxy/limits.ts`, PROXY_OWN, 'proxy.'),
    '### proxy/upload',
    ...checked(`${root}/proxy/upload/limits.ts`, UPLOAD_LIMITS, 'proxy.'),
    '## Limits of control',
    ...control.flat(),
  ])
}
