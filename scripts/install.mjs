// Installs the npm packages when that is due, which `make` asks before everything that needs them.
import { spawnSync } from 'node:child_process'
import { statSync, utimesSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { loadHttpServer } from '../proxy/server/httpServer.mjs'

function modifiedMs(path) {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0
}

// npm writes this file last, so that it is older than the lock file exactly when the packages are.
function stampOf(folder) {
  return join(folder, 'node_modules/.package-lock.json')
}

/** Whether the packages of a folder are missing, or older than its lock file. */
export function isStale(folder) {
  const inputs = ['package.json', 'package-lock.json'].map((file) => modifiedMs(join(folder, file)))
  return modifiedMs(stampOf(folder)) < Math.max(...inputs)
}

/**
 * Installs what the lock file of a folder says.
 * @param env of npm, whose PATH decides which Node.js the packages are for
 * @throws when npm fails, which has then said why
 */
export function installPackages(folder, env = process.env) {
  // The output of npm goes to stderr, so that the output of the next program can be read by a program. Its warnings are about
  // packages that only tests and benchmarks use, and read like a fault of this installation.
  console.error('Installing the npm packages ...')
  const command = ['ci', '--no-audit', '--no-fund', '--loglevel=error']
  const { status } = spawnSync('npm', command, { cwd: folder, env, stdio: ['ignore', 2, 2] })
  if (status !== 0) throw new Error(`npm ci failed in ${folder}`)
  utimesSync(stampOf(folder), new Date(), new Date())
}

/**
 * npm installs the HTTP server's native code for the one version of Node.js that runs npm. Under another version a worker
 * of the proxy would end at its start.
 * @returns why the packages of the folder do not run under this Node.js, or undefined when they do
 */
function nativeFault(folder) {
  try {
    loadHttpServer(createRequire(join(folder, 'package.json')))
    return undefined
  } catch (error) {
    return error.message
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const root = fileURLToPath(new URL('..', import.meta.url))
  if (isStale(root) || nativeFault(root) !== undefined) {
    installPackages(root)
    const fault = nativeFault(root)
    if (fault !== undefined) {
      console.error(fault)
      process.exitCode = 1
    }
  }
}
