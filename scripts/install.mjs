// Installs the npm packages when that is due, which `make` asks before everything that needs them.
import { spawnSync } from 'node:child_process'
import { statSync, utimesSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
// npm writes this file last, so that it is older than the lock file exactly when the packages are.
const stamp = join(root, 'node_modules/.package-lock.json')

function modifiedMs(path) {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0
}

/**
 * npm installs the HTTP server's native code for the one version of Node.js that runs npm. Under another version a worker
 * of the proxy would end at its start.
 * @returns why the installed packages do not run under this Node.js, or undefined when they do
 */
function nativeFault() {
  try {
    createRequire(join(root, 'package.json'))('uWebSockets.js')
    return undefined
  } catch (error) {
    return error.message
  }
}

function isInstallDue() {
  const inputs = ['package.json', 'package-lock.json'].map((file) => modifiedMs(join(root, file)))
  return modifiedMs(stamp) < Math.max(...inputs) || nativeFault() !== undefined
}

function install() {
  const { status } = spawnSync('npm', ['ci', '--no-audit', '--no-fund'], { cwd: root, stdio: 'inherit' })
  if (status !== 0) return status ?? 1
  utimesSync(stamp, new Date(), new Date())
  const fault = nativeFault()
  if (fault === undefined) return 0
  console.error(`The HTTP server's package does not run under Node.js ${process.versions.node}: ${fault}`)
  return 1
}

if (isInstallDue()) process.exitCode = install()
