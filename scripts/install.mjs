// Installs the npm packages when that is due, which `make` asks before everything that needs them.
import { spawnSync } from 'node:child_process'
import { rmSync, statSync, utimesSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { loadHttpServer } from '../proxy/server/httpServer.mjs'
import { nativeCodeFaults } from './native-code.mjs'

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

/** Throws when native code is not what is on record. The packages count as missing then, so that nothing goes on with them. */
function refuseOtherCode(folder) {
  const faults = nativeCodeFaults(folder)
  if (faults.length === 0) return
  rmSync(stampOf(folder))
  throw new Error(faults.join('\n'))
}

/**
 * Installs the packages of a folder's lock file.
 * @param env of npm, whose PATH decides which Node.js the packages are for
 * @throws when npm fails, which has then said why, and when native code is not what scripts/native-code.json has on record
 */
export function installPackages(folder, env = process.env) {
  // The output of npm goes to stderr, so that the output of the next program can be read by a program. Its warnings are about
  // packages that only tests and benchmarks use, and read like a fault of this installation.
  console.error('Installing the npm packages ...')
  const command = ['ci', '--no-audit', '--no-fund', '--loglevel=error']
  const { status } = spawnSync('npm', command, { cwd: folder, env, stdio: ['ignore', 2, 2] })
  if (status !== 0) throw new Error(`npm ci failed in ${folder}`)
  refuseOtherCode(folder)
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
