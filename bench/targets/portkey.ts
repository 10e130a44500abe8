import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { projectRoot } from '../../control/launch/paths.ts'
import type { Program } from './program.ts'
import { startProgram } from './program.ts'

const FOLDER = join(projectRoot, 'bench/portkey')
const PACKAGE = join(FOLDER, 'node_modules/@portkey-ai/gateway')

/** A running Portkey gateway, https://github.com/Portkey-AI/gateway. */
export interface Portkey extends Program {
  readonly version: string
  /** Header lines that name the provider; Portkey needs them in each request. */
  readonly headers: readonly string[]
}

/**
 * Starts Portkey in front of a server on this machine, after installing it when that is due.
 * @throws Error when it cannot be installed or does not start
 */
export async function startPortkey(upstreamPort: number): Promise<Portkey> {
  install()
  const { version } = JSON.parse(readFileSync(join(PACKAGE, 'package.json'), 'utf8')) as { version: string }
  const program = await startProgram({
    name: 'portkey',
    command: process.execPath,
    prepare: (_folder, port) => [join(PACKAGE, 'build/start-server.js'), `--port=${port}`, '--headless'],
    env: { NODE_ENV: 'production' },
  })
  const headers = [
    'x-portkey-provider: openai',
    `x-portkey-custom-host: http://127.0.0.1:${upstreamPort}/v1`,
    'Authorization: Bearer bench',
  ]
  return { ...program, version, headers }
}

// npm writes this file last, so that it is older than the lock file exactly when an installation is due.
function install(): void {
  const stamp = join(FOLDER, 'node_modules/.package-lock.json')
  const lock = join(FOLDER, 'package-lock.json')
  if (existsSync(stamp) && statSync(stamp).mtimeMs >= statSync(lock).mtimeMs) return
  process.stdout.write('installing Portkey into bench/portkey\n')
  // npm's output is redirected to stderr: stdout is for the report.
  const done = spawnSync('npm', ['ci', '--no-audit', '--no-fund'], { cwd: FOLDER, stdio: ['ignore', 2, 2] })
  if (done.status === 0) return
  throw new Error('Portkey could not be installed (npm ci in bench/portkey); leave it out with --targets nginx,sluice')
}
