// Runs the tests under Node.js 22, also where `node` is another version: node scripts/test-node22.mjs [FOLDER or FILE...]
//
// The compiled programs are copied to dist-node22/. Their imports are looked for in test/node22/node_modules first
// (the HTTP server for Node.js 22 and the newest clients) and in the project's node_modules then, which stays as it is.
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, rmSync, symlinkSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { installPackages, isStale } from './install.mjs'

const MAJOR = 22
const root = fileURLToPath(new URL('..', import.meta.url))
const folder = join(root, 'test/node22')
const runtime = join(folder, 'runtime')
const copy = join(root, 'dist-node22')

/** The program of Node.js 22: the one that runs this, or the one of an npm package. */
function findNode() {
  if (Number.parseInt(process.versions.node, 10) === MAJOR) return process.execPath
  if (isStale(runtime)) installPackages(runtime)
  const node = join(runtime, 'node_modules/.bin/node')
  if (existsSync(node)) return node
  throw new Error(`No npm package has Node.js ${MAJOR} for this machine: install it and run this again with it.`)
}

function copyPrograms() {
  rmSync(copy, { recursive: true, force: true })
  cpSync(join(root, 'dist'), copy, { recursive: true })
  symlinkSync(join(folder, 'node_modules'), join(copy, 'node_modules'))
}

const node = findNode()
const env = { ...process.env, PATH: `${dirname(node)}${delimiter}${process.env.PATH}` }
if (isStale(folder)) installPackages(folder, env)
copyPrograms()
const args = [join(copy, 'test/run.js'), ...process.argv.slice(2)]
process.exitCode = spawnSync(node, args, { env, stdio: 'inherit' }).status ?? 1
