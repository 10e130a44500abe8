import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync, rmSync, symlinkSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { projectRoot } from '../../../control/launch/paths.ts'
import { freePort } from '../../../control/launch/process/freePort.ts'
import { ManagedProcess } from '../../../control/launch/process/managedProcess.ts'
import type { CliResult } from '../cli.ts'
import { limits } from '../limits.ts'
import { imageEnvironment } from './dockerfile.ts'
import { mountOf, type Part } from './part.ts'

/** Each process has the network of this machine, so none has the ports of its container. */
const NETWORK = {
  HOST: '127.0.0.1',
  SLUICE_METRICS_HOST: '127.0.0.1',
  SLUICE_METRICS_PORT: '0',
  SLUICE_CONTROL_METRICS_PORT: '0',
}

/** A container as a process of this machine, with its command, environment and mounts; paths lead to a folder that stands for its root. */
export class RunningPart {
  readonly part: Part
  private readonly root: string
  private readonly dir: string
  private readonly env: NodeJS.ProcessEnv
  private readonly process: ManagedProcess

  /**
   * @param dir of the whole deployment, which has its volumes
   * @param more variables that no manifest has, such as the key of a provider of the test
   */
  constructor(part: Part, dir: string, more: NodeJS.ProcessEnv = {}) {
    this.part = part
    this.dir = dir
    this.root = join(dir, 'roots', part.name)
    mkdirSync(this.root, { recursive: true })
    const given = Object.entries(part.environment)
    for (const [name, value] of given) {
      const isHere = !value.startsWith('/') || mountOf(part, value) !== undefined
      assert.ok(isHere, `${part.name}: ${name} is ${value}, which no mount has`)
    }
    const values = Object.entries({ ...imageEnvironment(), ...part.environment })
    const inRoot = values.map(([name, value]) => [name, value.startsWith('/') ? join(this.root, value) : value])
    const path = `${dirname(process.execPath)}${delimiter}${process.env['PATH']}`
    this.env = { ...Object.fromEntries(inRoot), ...NETWORK, ...more, PATH: path }
    this.process = new ManagedProcess({
      name: part.name,
      command: '/bin/sh',
      args: [provideImage(dir), ...part.args],
      env: this.env,
      logFile: join(dir, `${part.name}.log`),
      stopSignal: 'SIGTERM',
      stopTimeoutMs: part.stopGraceMs,
      limits,
    })
  }

  /** The port of the proxy, without /v1. */
  get url(): string {
    return `http://127.0.0.1:${this.process.ready['port']}`
  }

  /** The value of a metric without labels. */
  async metric(name: string): Promise<number> {
    const text = await (await fetch(`http://127.0.0.1:${this.process.ready['metricsPort']}/metrics`)).text()
    return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1])
  }

  /** Starts it as a new container of the same pod. */
  async start(): Promise<void> {
    this.mount('container')
    await this.process.start({ PORT: String(await freePort()) })
  }

  /** Sends SIGTERM. @returns the exit status; null where it was killed after the grace period */
  async stop(): Promise<number | null> {
    await this.process.stop()
    return this.process.lastExit?.code ?? null
  }

  /** Ends the container as a crash would. */
  kill9(): Promise<void> {
    return this.process.cut()
  }

  /** Loses the pod with what is not in a volume. */
  async lose(): Promise<void> {
    await this.kill9()
    this.mount('pod')
  }

  /** Runs the image with these words in the environment of this container, to the end. */
  run(...args: readonly string[]): Promise<CliResult> {
    this.mount('none')
    return new Promise((resolve) => {
      execFile('/bin/sh', [provideImage(this.dir), ...args], { env: this.env }, (error, stdout, stderr) => {
        const code = error === null ? 0 : typeof error.code === 'number' ? error.code : 1
        resolve({
          code,
          stdout,
          stderr,
          json: args.includes('--json') && stdout !== '' ? JSON.parse(stdout) : undefined,
        })
      })
    })
  }

  /** Runs the health check of the container. @returns whether it is healthy */
  async isHealthy(path: string): Promise<boolean> {
    const port = String(this.process.ready['metricsPort'])
    const env = { ...this.env, SLUICE_METRICS_PORT: port, SLUICE_CONTROL_METRICS_PORT: port }
    const script = join(dirname(provideImage(this.dir)), 'health.mjs')
    return new Promise((resolve) => {
      execFile(process.execPath, [script, path], { env }, (error) => resolve(error === null))
    })
  }

  /** @param lost what is empty now */
  private mount(lost: 'none' | 'container' | 'pod'): void {
    for (const { target, kind, source } of this.part.mounts) {
      const path = join(this.root, target)
      const isLost = (kind === 'container' && lost !== 'none') || (kind === 'pod' && lost === 'pod')
      if (isLost) rmSync(path, { recursive: true, force: true })
      if (existsSync(path)) continue
      mkdirSync(dirname(path), { recursive: true })
      if (kind === 'path') symlinkSync(source, path)
      else if (kind === 'volume') symlinkSync(volumeFolder(this.dir, source), path)
      else mkdirSync(path)
    }
  }
}

/** The folder of a named volume. */
export function volumeFolder(dir: string, name: string): string {
  const folder = join(dir, 'volumes', name)
  mkdirSync(folder, { recursive: true })
  return folder
}

/** The files of the image as they lie in it. @returns its entry point */
function provideImage(dir: string): string {
  const folder = join(dir, 'image')
  const script = join(folder, 'entrypoint.sh')
  if (existsSync(script)) return script
  mkdirSync(folder, { recursive: true })
  for (const name of ['health.mjs', 'entrypoint.sh'])
    copyFileSync(join(projectRoot, 'deploy/image', name), join(folder, name))
  symlinkSync(join(projectRoot, 'dist'), join(folder, 'dist'))
  return script
}
