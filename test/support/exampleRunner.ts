import assert from 'node:assert/strict'
import { execFile, spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { compiled, projectRoot } from '../../control/launch/paths.ts'
import type { FencedBlock } from './fencedBlocks.ts'

const TIMEOUT_MS = 60_000
const STATE = '.state.sh'

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
   * @param env of the examples, and of the command line that they call as `npm run -s sluice --`
   */
  constructor(dir: string, env: NodeJS.ProcessEnv, python: PythonSupport) {
    this.dir = dir
    this.python = python
    const bin = join(dir, '.bin')
    mkdirSync(bin)
    symlinkSync(join(projectRoot, 'node_modules'), join(dir, 'node_modules'))
    const cli = `shift 4; exec "${process.execPath}" "${compiled('control/cli.js')}" "$@"`
    writeFileSync(
      join(bin, 'npm'),
      `#!/bin/sh\n[ "$1 $2 $3 $4" = "run -s sluice --" ] || { echo "npm $*: not an example" >&2; exit 1; }\n${cli}\n`,
    )
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
