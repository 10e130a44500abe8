// Runs the tests under another version of Node.js: node scripts/test-node.mjs MAJOR [FOLDER or FILE...]
//
// The compiled programs are copied to dist-nodeMAJOR/, beside packages of their own (test/nodes: the HTTP server for that
// Node.js and the newest clients). Other imports are found in the project's node_modules, which stays as it is.
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { glibcFault, glibcOfMachine, httpServerFor } from '../proxy/server/httpServer.mjs'
import { debianRoot, inRoot } from './debian-root.mjs'
import { installPackages, isStale } from './install.mjs'

const [major, ...tests] = process.argv.slice(2)
const root = fileURLToPath(new URL('..', import.meta.url))
const packages = join(root, 'test/nodes')
const runtime = join(packages, major)
const copy = join(root, `dist-node${major}`)

/** The program of that Node.js: the one that runs this, or the one of an npm package. */
function findNode() {
  if (process.versions.node.split('.')[0] === major) return process.execPath
  if (isStale(runtime)) installPackages(runtime)
  const node = join(runtime, 'node_modules/.bin/node')
  if (existsSync(node)) return node
  throw new Error(`No npm package has Node.js ${major} for this machine: install it and run this again with it.`)
}

/** Copies what was built, and keeps the packages that are there. */
function copyPrograms(env) {
  mkdirSync(copy, { recursive: true })
  for (const entry of readdirSync(copy)) {
    if (entry !== 'node_modules') rmSync(join(copy, entry), { recursive: true, force: true })
  }
  cpSync(join(root, 'dist'), copy, { recursive: true })
  for (const file of ['package.json', 'package-lock.json']) {
    cpSync(join(packages, file), join(copy, file), { preserveTimestamps: true })
  }
  if (isStale(copy)) installPackages(copy, env)
}

/** How the tests are started: in the root of a newer Debian where the HTTP server does not run with this machine's glibc. */
function commandOf(node) {
  const command = [node, join(copy, 'test/run.js'), ...tests]
  const fault = process.platform === 'linux' ? glibcFault(httpServerFor(major), glibcOfMachine()) : undefined
  if (fault === undefined) return command
  console.error(`${fault} The tests run in a root of Debian 13.`)
  return inRoot(debianRoot(), root, command)
}

if (!existsSync(runtime)) throw new Error(`test/nodes has no Node.js ${major}`)
const node = findNode()
const env = { ...process.env, PATH: `${dirname(node)}${delimiter}${process.env.PATH}` }
copyPrograms(env)
const [program, ...args] = commandOf(node)
process.exitCode = spawnSync(program, args, { env, stdio: 'inherit' }).status ?? 1
