import assert from 'node:assert/strict'
import { execFile, spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { projectRoot } from '../../control/launch/paths.ts'
import type { CliResult } from './cli.ts'
import type { FencedBlock } from './fencedBlocks.ts'

const TIMEOUT_MS = 60_000
const STATE = '.state.sh'
/** Stands for npm: a process of its own for each command would take a second each. */
const NPM = `#!/bin/bash
[ "\${*:1:4}" = "run -s sluice --" ] || { echo "npm $* is not for examples" >&2; exit 1; }
words=()
for word in "\${@:5}"; do words+=(--data-urlencode "word=$word"); done
exec curl -sS --fail-with-body "\${words[@]}" URL
`

/** How Python examples are tested here: run, compiled where the client is missing, or not at all. */
export type PythonSupport = 'run' | 'compile' | 'none'

export function pythonSupport(): PythonSupport {
  if (spawnSync('python3', ['--version']).status !== 0) return 'none'
  return spawnSync('python3', ['-c', 'import openai, anthropic, httpx']).status === 0 ? 'run' : 'compile'
}

/** Runs the examples of one page in its own folder. */
export class ExampleRunner {
  private readonly dir: string
  private readonly env: NodeJS.ProcessEnv
  private readonly python: PythonSupport
  private count = 0

  /**
   * @param dir an empty folder
   * @param env of the examples
   * @param cliUrl runs a command line, which examples call as `npm run -s sluice --`; see CommandServer
   */
  constructor(dir: string, env: NodeJS.ProcessEnv, cliUrl: string, python: PythonSupport) {
    this.dir = dir
    this.python = python
    const bin = join(dir, '.bin')
    mkdirSync(bin)
    // An example sees what a checkout has.
    for (const name of ['node_modules', 'dist']) symlinkSync(join(projectRoot, name), join(dir, name))
    writeFileSync(join(bin, 'npm'), NPM.replace('URL', cliUrl))
    chmodSync(join(bin, 'npm'), 0o755)
    writeFileSync(join(dir, STATE), '')
    this.env = { ...process.env, ...env, PATH: `${bin}:${process.env['PATH']}` }
  }

  /** Writes and runs a block, as it says. Throws where it fails. */
  async take(block: FencedBlock): Promise<void> {
    if (block.file !== undefined) writeFileSync(join(this.dir, block.file), block.text)
    if (!block.runs) return
    const script = this.scriptOf(block)
    if (script === undefined) return
    const { code, output } = await this.bash(script)
    assert.equal(code, 0, `${block.place} failed:\n${block.text}\n${output}`)
  }

  private scriptOf(block: FencedBlock): string | undefined {
    const write = (ending: string): string => {
      const name = block.file ?? `example-${++this.count}.${ending}`
      writeFileSync(join(this.dir, name), block.text)
      return name
    }
    switch (block.language) {
      case 'sh':
        return block.text
      case 'js':
        return `"${process.execPath}" ${write('mjs')}`
      case 'python':
        if (this.python === 'none') return undefined
        return this.python === 'run' ? `python3 ${write('py')}` : `python3 -m py_compile ${write('py')}`
      default:
        throw new Error(`${block.place}: examples in "${block.language}" are not run`)
    }
  }

  /** What earlier blocks have exported and defined is there again. */
  private bash(script: string): Promise<{ code: number; output: string }> {
    const text = `. ./${STATE}\nset -euo pipefail\n${script}\n{ export -p; declare -f; } > ${STATE}\n`
    return new Promise((resolve) => {
      const options = { cwd: this.dir, env: this.env, timeout: TIMEOUT_MS }
      execFile('bash', ['-c', text], options, (error, stdout, stderr) => {
        const code = error === null ? 0 : typeof error.code === 'number' ? error.code : 1
        resolve({ code, output: `${stdout}\n${stderr}` })
      })
    })
  }
}

/** Runs the command lines that examples send as forms, and answers what they print; 500 where one fails. */
export class CommandServer {
  private readonly server: Server

  constructor(run: (args: readonly string[]) => Promise<CliResult>) {
    this.server = createServer((request, response) => {
      void text(request).then(async (body) => {
        const { code, stdout, stderr } = await run(new URLSearchParams(body).getAll('word'))
        response.writeHead(code === 0 ? 200 : 500).end(code === 0 ? stdout : stderr)
      })
    })
  }

  /** @returns where it is reached */
  async start(): Promise<string> {
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve))
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/`
  }

  stop(): void {
    this.server.close()
    this.server.closeAllConnections()
  }
}
