import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import test from 'node:test'
import { projectRoot } from '../../../control/launch/paths.ts'
import { makeTempDir, removeTempDir } from '../../support/tempDir.ts'

interface Report {
  readonly diagnostics: readonly { readonly message: string; readonly location: { readonly path: string } }[]
}

/** Planted violations of the rules in biome.json, each with a part of what Biome says of it. */
const REFUSED: ReadonlyArray<readonly [folder: string, text: string, fault: RegExp]> = [
  ['proxy/access', "export { x } from '../../control/keys/b.ts'\n", /Proxy never imports control/],
  ['proxy', "export type { X } from '../control/ledger/b.ts'\n", /Proxy never imports control/],
  ['proxy/server', "export { x } from '../../control/keys/b.ts'\n", /Proxy never imports control/],
  ['control/runtime/bus', "export { x } from '../../../proxy/bus/b.ts'\n", /Control never imports proxy/],
  ['control/runtime/bus', "export const x = import('../../../proxy/bus/b.ts')\n", /Control never imports proxy/],
  ['workers', "export { x } from '../proxy/bus/b.ts'\n", /Workers know of the project only the contract/],
  ['contract', "export { x } from '../control/runtime/db/pool.ts'\n", /Contract imports nothing/],
  ['contract', "export { Pool } from 'pg'\n", /Only control opens PostgreSQL/],
  ['proxy/bus', "export { Pool } from 'pg'\n", /Only control opens PostgreSQL/],
  ['control/runtime/db', "export { App } from 'uWebSockets.js'\n", /Only proxy\/server/],
  ['proxy/sse', "export { request } from 'undici'\n", /Only proxy\/upstream/],
  ['control/api', "export { request } from 'undici'\n", /Only proxy\/upstream/],
  ['control/runtime/db', "export { x } from '../../../test/support/b.ts'\n", /never imports mock/],
  ['proxy', "export { x } from '../mock/main.ts'\n", /never imports mock/],
  ['control/audit', "export { verify } from '../../verifier/verify.ts'\n", /or verifier/],
  ['verifier', "export { x } from '../contract/money/units.ts'\n", /Verifier\/ imports nothing/],
  ['verifier', "export { readFile } from 'node:fs'\n", /nothing but its own files/],
  ['verifier', "export { Pool } from 'pg'\n", /nothing but its own files/],
  ['mock', "export { x } from '../contract/money/units.ts'\n", /Mock\/ imports nothing/],
  ['bench', "export { x } from '../test/support/b.ts'\n", /Bench\/ never imports test/],
  ['proxy/sse', 'export function f(x: any): unknown {\n  return x\n}\n', /any/],
  ['proxy/sse', 'export const x = JSON.parse(String(1)) as any\n', /any/],
  ['proxy/sse', 'export const x = new Map<string, any>()\n', /any/],
  ['contract/money', 'const a = 1\nexport const x = { ...{ a }, b: 1 }\n', /Spread of a literal/],
  ['contract/money', 'const a = 1\nexport const x = [...[a], 1]\n', /Spread of a literal/],
  ['contract/money', `${'x()\n\n'.repeat(150)}x()\n`, /too many lines \(301\)/],
  ['contract/money', 'export class A {\n  #a = 1\n  b(): number {\n    return this.#a\n  }\n}\n', /`private`/],
]

const ALLOWED: ReadonlyArray<readonly [folder: string, text: string]> = [
  ['proxy/access', "export { limits } from '../../contract/limits/limits.ts'\n"],
  ['proxy/server', "export { App } from 'uWebSockets.js'\n"],
  ['proxy/upstream', "export { request } from 'undici'\n"],
  ['control/runtime/net', "export { request } from 'undici'\n"],
  ['control/runtime/db', "export { Pool } from 'pg'\n"],
  ['verifier', "export { x } from './b.ts'\n"],
  ['mock', "export { App } from 'uWebSockets.js'\nexport { request } from 'undici'\n"],
  ['test/faults', "export { x } from '../support/b.ts'\nexport { y } from '../../proxy/json/c.ts'\n"],
  ['proxy/sse', "// from any place\nexport const text = 'x: any' // as any\n/* <any> */ export const any = 1\n"],
  ['contract/money', 'const a = [1]\nexport const x = [...a, ...(a.length > 1 ? [2] : [])]\n'],
  ['contract/money', 'x()\n'.repeat(300)],
]

/** Three files of which the first imports the second, that the third, and the third the first's type. */
const CIRCLE: Readonly<Record<string, string>> = {
  'contract/circle/a.ts': "export { b as a } from './b.ts'\nexport type A = number\n",
  'contract/circle/b.ts': "export { c as b } from './c.ts'\n",
  'contract/circle/c.ts': "import type { A } from './a.ts'\n\nexport const c: A = 1\n",
}

function plant(dir: string, path: string, text: string): void {
  mkdirSync(dirname(join(dir, path)), { recursive: true })
  writeFileSync(join(dir, path), text)
}

/** What Biome says, by path in the folder. */
function lint(dir: string): Map<string, string> {
  const biome = join(projectRoot, 'node_modules/.bin/biome')
  const args = ['lint', '--reporter=json', '--max-diagnostics=none', '.']
  const { stdout, stderr } = spawnSync(biome, args, { cwd: dir, encoding: 'utf8' })
  const found = new Map<string, string>()
  assert.ok(stdout.startsWith('{'), stderr)
  for (const { message, location } of (JSON.parse(stdout) as Report).diagnostics) {
    found.set(location.path, `${found.get(location.path) ?? ''}${message}\n`)
  }
  return found
}

test('the rules of biome.json', async (t) => {
  const dir = makeTempDir('lint')
  t.after(() => removeTempDir(dir))
  cpSync(join(projectRoot, 'biome.json'), join(dir, 'biome.json'))
  cpSync(join(projectRoot, 'scripts/lint'), join(dir, 'scripts/lint'), { recursive: true })
  const refused = REFUSED.map(([folder, text, fault], i) => ({ path: `${folder}/refused${i}.ts`, text, fault }))
  const allowed = ALLOWED.map(([folder, text], i) => ({ path: `${folder}/allowed${i}.ts`, text }))
  for (const { path, text } of [...refused, ...allowed]) plant(dir, path, text)
  for (const [path, text] of Object.entries(CIRCLE)) plant(dir, path, text)
  const found = lint(dir)

  for (const { path, text, fault } of refused) {
    await t.test(`rejected: ${path}: ${text.split('\n', 1)[0]}`, () => assert.match(found.get(path) ?? '', fault))
  }
  for (const { path, text } of allowed) {
    await t.test(`allowed: ${path}: ${text.split('\n', 1)[0]}`, () => assert.equal(found.get(path), undefined))
  }
  await t.test('circular imports are rejected, including those of types alone', () => {
    for (const path of Object.keys(CIRCLE)) assert.match(found.get(path) ?? '', /part of a cycle/)
  })
})
