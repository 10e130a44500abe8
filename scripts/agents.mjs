// Installs the coding agents that the long tests run, and prints the folder of their programs: node scripts/agents.mjs
import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdtempSync, renameSync, rmSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isStale } from './install.mjs'

/** Scripts that two of the packages run once they are installed, which newer versions of npm leave to the user. */
const PREPARED_BY = { '@anthropic-ai/claude-code': 'install.cjs', 'opencode-ai': 'postinstall.mjs' }

const folder = join(fileURLToPath(new URL('..', import.meta.url)), 'test/agents')
function run(command, args, cwd) {
  const { status } = spawnSync(command, args, { cwd, stdio: ['ignore', 2, 2] })
  if (status !== 0) throw new Error(`${command} ${args.join(' ')} failed in ${cwd}`)
}

// In a folder of its own, which becomes that of the packages once all is done: tests that run concurrently install them too.
function install() {
  const own = mkdtempSync(join(folder, 'node_modules.'))
  copyFileSync(join(folder, 'package.json'), join(own, 'package.json'))
  // Not by a lock file: not every registry has their packages for all platforms, and `npm ci` wants them all. The versions
  // of package.json are exact, and so are those by which the agents name their packages for a platform.
  run('npm', ['install', '--package-lock=false', '--no-audit', '--no-fund', '--loglevel=error'], own)
  for (const [name, script] of Object.entries(PREPARED_BY)) {
    run(process.execPath, [script], join(own, 'node_modules', name))
  }
  const now = new Date()
  utimesSync(join(own, 'node_modules/.package-lock.json'), now, now)
  if (isStale(folder)) {
    rmSync(join(folder, 'node_modules'), { recursive: true, force: true })
    moveTo(join(own, 'node_modules'), join(folder, 'node_modules'))
  }
  rmSync(own, { recursive: true, force: true })
}

// Another process may have moved the same there meanwhile.
function moveTo(from, to) {
  try {
    renameSync(from, to)
  } catch (error) {
    if (isStale(folder)) throw error
  }
}

if (isStale(folder)) {
  console.error('Installing the coding agents ...')
  install()
}
console.log(join(folder, 'node_modules/.bin'))
