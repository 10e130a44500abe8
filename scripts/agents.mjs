// Installs the coding agents that the long tests run, and prints the folder of their programs: node scripts/agents.mjs
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { installPackages, isStale } from './install.mjs'

/** What two of the packages do once they are installed, which newer versions of npm leave to the user. */
const PREPARED_BY = { '@anthropic-ai/claude-code': 'install.cjs', 'opencode-ai': 'postinstall.mjs' }

const folder = join(fileURLToPath(new URL('..', import.meta.url)), 'test/agents')
if (isStale(folder)) {
  installPackages(folder)
  for (const [name, script] of Object.entries(PREPARED_BY)) {
    const { status } = spawnSync(process.execPath, [script], {
      cwd: join(folder, 'node_modules', name),
      stdio: ['ignore', 2, 2],
    })
    if (status !== 0) throw new Error(`${name} was not prepared`)
  }
}
console.log(join(folder, 'node_modules/.bin'))
