import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { compiled } from '../../control/launch/paths.ts'

export interface CliResult {
  code: number | null
  stdout: string
  stderr: string
  /** stdout parsed, or undefined when it is not JSON. */
  json: unknown
}

/** Runs the operator's command line as a process. */
export async function runCli(args: readonly string[], env: NodeJS.ProcessEnv): Promise<CliResult> {
  const child = spawn(process.execPath, [compiled('control/cli.js'), ...args], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const [[code], stdout, stderr] = await Promise.all([once(child, 'close'), text(child.stdout), text(child.stderr)])
  return { code, stdout, stderr, json: parse(stdout) }
}

function parse(output: string): unknown {
  try {
    return JSON.parse(output)
  } catch {
    return undefined
  }
}
