import type { ChildProcess } from 'node:child_process'
import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../../control/launch/process/freePort.ts'

const START_TIMEOUT_MS = 20_000
const STOP_TIMEOUT_MS = 5_000
const POLL_MS = 20

/** The running programs, with their folders. */
const alive = new Map<ChildProcess, string>()

// The last resort when this process exits without having stopped its children.
process.on('exit', () => {
  for (const [child, folder] of alive) {
    child.kill('SIGKILL')
    rmSync(folder, { recursive: true, force: true })
  }
})

/** How a gateway of others is started. */
export interface ProgramDefinition {
  /** Names it in messages and its folder. */
  readonly name: string
  readonly command: string
  /** Writes its configuration into its folder; returns the arguments. */
  readonly prepare: (folder: string, port: number) => readonly string[]
  readonly env?: NodeJS.ProcessEnv
}

/** A running gateway of others, which listens on a port of this machine. */
export interface Program {
  readonly port: number
  readonly pid: number
  stop(): Promise<void>
}

/**
 * Starts a program in its own folder and waits until it takes connections.
 * @throws Error when it ends or does not listen in time
 */
export async function startProgram(definition: ProgramDefinition): Promise<Program> {
  const folder = mkdtempSync(join(tmpdir(), `sluice-${definition.name}-`))
  const port = await freePort()
  const child = spawn(definition.command, definition.prepare(folder, port), {
    cwd: folder,
    env: { ...process.env, ...definition.env },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  alive.set(child, folder)
  child.once('exit', () => alive.delete(child))
  try {
    await acceptsAt(port, child, definition.name)
    return { port, pid: child.pid ?? 0, stop: () => stop(child, folder) }
  } catch (error) {
    await stop(child, folder)
    throw error
  }
}

/**
 * Finds a system program, also where packages put it outside of the path of an ordinary user.
 * @returns its command, and its printed version
 * @throws Error that says how to install it
 */
export function findCommand(name: string): { command: string; version: string } {
  for (const command of [name, `/usr/sbin/${name}`]) {
    const shown = spawnSync(command, ['-v'], { encoding: 'utf8' })
    if (shown.status !== 0) continue
    return { command, version: /(\d+\.\d[\w.]*)/.exec(shown.stdout + shown.stderr)?.[1] ?? 'unknown' }
  }
  throw new Error(`${name} is missing; install it with: node scripts/system-packages.mjs ${name}`)
}

async function acceptsAt(port: number, child: ChildProcess, name: string): Promise<void> {
  let fault: Error | undefined
  child.once('error', (error) => {
    fault = error
  })
  for (const untilMs = Date.now() + START_TIMEOUT_MS; Date.now() < untilMs; await sleep(POLL_MS)) {
    if (fault !== undefined) throw new Error(`${name} did not start: ${fault.message}`)
    if (hasEnded(child)) throw new Error(`${name} ended with ${child.exitCode ?? child.signalCode}`)
    if (await accepts(port)) return
  }
  throw new Error(`${name} did not start in time`)
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy()
      resolve(true)
    })
    socket.on('error', () => resolve(false))
  })
}

function hasEnded(child: ChildProcess): boolean {
  return child.pid === undefined || child.exitCode !== null || child.signalCode !== null
}

function stop(child: ChildProcess, folder: string): Promise<void> {
  return new Promise((resolve) => {
    const clean = () => {
      rmSync(folder, { recursive: true, force: true })
      resolve()
    }
    if (hasEnded(child)) return clean()
    const timer = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS)
    child.on('exit', () => {
      clearTimeout(timer)
      clean()
    })
    child.kill('SIGTERM')
  })
}
