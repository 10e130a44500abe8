import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import test from 'node:test'
import { NO_QUOTA } from '../../../../../contract/catalog/quota.ts'
import { soleKey } from '../../../../../contract/providers/providerKeys.ts'
import { projectRoot } from '../../../../../control/launch/paths.ts'
import {
  controlEnvironment,
  type KeyNames,
  proxyEnvironment,
  serverEnvironment,
} from '../../../../../control/launch/process/childEnvironment.ts'

const CATALOG: KeyNames = {
  providers: [
    { dialect: 'openai', keys: soleKey('A_KEY') },
    { dialect: 'anthropic', keys: soleKey('B_KEY') },
    { dialect: 'openai', keys: [{ id: 'mounted', env: '', file: '/run/key', weight: 1, models: [], ...NO_QUOTA }] },
    { dialect: 'openai', keys: [] },
  ],
  tools: [{ apiKeyEnv: 'T_KEY' }],
}

/** The settings of the documentation: variable to the programs that read it. */
function documented(): Map<string, string> {
  const page = readFileSync(join(projectRoot, 'docs/reference/configuration.md'), 'utf8')
  const sections = page.split(/^### /m).slice(1)
  const rows = sections.map((section) =>
    /^([A-Z_]+)\n[\s\S]*?read by[^\n]*\n[^\n]*\n\|[^|]*\|[^|]*\|([^|]*)\|/.exec(section),
  )
  return new Map(rows.flatMap((row) => (row?.[1] === undefined ? [] : [[row[1], `${row[2]}`]])))
}

test('the proxy and control get exactly the settings that the documentation lists for them', () => {
  const settings = documented()
  assert.ok(settings.size > 15, 'the table is read')
  const everything = Object.fromEntries([...settings.keys()].map((name) => [name, 'set']))
  const namedFor = (part: string) =>
    [...settings].filter(([, by]) => by.includes(part) || by.includes('all')).map(([name]) => name)
  assert.deepEqual(Object.keys(proxyEnvironment(everything, CATALOG)).sort(), namedFor('proxy').sort())
  assert.deepEqual(Object.keys(controlEnvironment(everything, CATALOG)).sort(), namedFor('control').sort())
  assert.deepEqual(serverEnvironment(everything), {})
})

test('the proxy gets the keys of all providers and tools of the catalog, control only those of batch jobs', () => {
  const env = { A_KEY: 'a', B_KEY: 'b', T_KEY: 't', OTHER_KEY: 'o', PATH: '/bin' }
  assert.deepEqual(proxyEnvironment(env, CATALOG), { PATH: '/bin', A_KEY: 'a', B_KEY: 'b', T_KEY: 't' })
  assert.deepEqual(controlEnvironment(env, CATALOG), { PATH: '/bin', A_KEY: 'a' })
  assert.deepEqual(serverEnvironment(env), { PATH: '/bin' })
})
