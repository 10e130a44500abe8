import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type { LaunchLimits } from '../limits.ts'
import { serverEnvironment } from '../process/childEnvironment.ts'
import { freePort } from '../process/freePort.ts'
import { stopLeftover } from '../process/leftover.ts'
import { ManagedProcess } from '../process/managedProcess.ts'

/** Each platform has its own npm package of this version; package.json names one as an optional dependency. */
const VERSION = '1.7.1'
const PORT_ATTEMPTS = 5
const PROBE_TIMEOUT_MS = 1_000
/** Seconds between dumps of the state, for a node that is killed. */
const STATE_INTERVAL_SECONDS = 5

/** The chain id that development nodes use. */
export const DEV_CHAIN_ID = 31_337

export interface AnvilOptions {
  /** Holds the pid file and, with `keepState`, the state; made when missing. */
  readonly dir: string
  readonly logFile: string
  /** Taken when it is free. */
  readonly port?: number
  /** Whether the next start in the same folder continues this chain. */
  readonly keepState?: boolean
  /** More flags, such as ['--block-time', '1']. */
  readonly flags?: readonly string[]
  readonly limits: LaunchLimits
}

/** There is no node for this platform, or its optional package was left out. */
export class AnvilMissing extends Error {
  override readonly name = 'AnvilMissing'
}

/** A node of a development chain that this process has started. */
export class AnvilNode {
  readonly rpcUrl: string
  readonly port: number
  readonly process: ManagedProcess
  private readonly pidFile: string

  constructor(process: ManagedProcess, port: number, pidFile: string) {
    this.process = process
    this.port = port
    this.rpcUrl = `http://127.0.0.1:${port}`
    this.pidFile = pidFile
  }

  /** Starts the node at its address; also again, after it has ended. */
  async start(): Promise<void> {
    await this.process.start()
    // anvil writes no pid file itself, and a node that outlives its starter has to be found.
    writeFileSync(this.pidFile, `${this.process.pid}\n`)
    // A node counts its time from the genesis block's.
    const isSet = await call(this.rpcUrl, 'evm_setTime', [`0x${nowSeconds().toString(16)}`])
    if (!isSet) throw new Error('the development chain did not take the time')
  }
}

/**
 * The program in the package for this platform. The package's own `bin` is a wrapper, and ending it does not end the node.
 * @throws AnvilMissing with instructions
 */
function findAnvil(): string {
  const cpu = process.arch === 'x64' ? 'amd64' : process.arch
  const name = `@foundry-rs/anvil-${process.platform}-${cpu}`
  try {
    const program = join(dirname(createRequire(import.meta.url).resolve(`${name}/package.json`)), 'bin/anvil')
    if (existsSync(program)) return program
  } catch {
    // Said below.
  }
  const what = `${name} is not installed; run npm install --no-save ${name}@${VERSION}, or set CHAIN_RPC_URL to a node`
  throw new AnvilMissing(what)
}

/**
 * Starts a node of a development chain on the loopback address and waits until it answers.
 * @throws AnvilMissing with instructions; Error with the reason why it did not start
 */
export async function startAnvil(options: AnvilOptions): Promise<AnvilNode> {
  const program = findAnvil()
  mkdirSync(options.dir, { recursive: true })
  const pidFile = join(options.dir, 'anvil.pid')
  await stopLeftover(pidFile, /anvil/, 'SIGTERM', options.limits)
  for (let attempt = 1; ; attempt++) {
    const port = await freePort(options.port)
    const node = new AnvilNode(anvilProcess(program, options, port), port, pidFile)
    try {
      await node.start()
      return node
    } catch (error) {
      // Another process may have taken the port since it was found free.
      if (attempt === PORT_ATTEMPTS || !/Address already in use/i.test(String(error))) throw error
    }
  }
}

function anvilProcess(program: string, options: AnvilOptions, port: number): ManagedProcess {
  const state = options.keepState ? stateFlags(join(options.dir, 'state.json')) : []
  return new ManagedProcess({
    name: 'the development chain',
    command: program,
    args: [
      '--port',
      String(port),
      '--chain-id',
      String(DEV_CHAIN_ID),
      '--hardfork',
      'cancun',
      '--silent',
      ...state,
      ...(options.flags ?? []),
    ],
    env: serverEnvironment(process.env),
    logFile: options.logFile,
    probe: () => call(`http://127.0.0.1:${port}`, 'eth_chainId'),
    stopSignal: 'SIGINT',
    stopTimeoutMs: options.limits.shutdownTimeoutMs,
    limits: options.limits,
  })
}

/**
 * A node makes a genesis block of its own at each start, in addition to that of the state that it loads. Both are the same block when
 * they have the same time; else the chain has two blocks 0, and either may answer.
 */
function stateFlags(file: string): string[] {
  const genesisSeconds = existsSync(file) ? genesisSecondsOf(file) : nowSeconds()
  return ['--state', file, '--state-interval', String(STATE_INTERVAL_SECONDS), '--timestamp', String(genesisSeconds)]
}

/** The time of the first genesis block in a dump of the state. */
function genesisSecondsOf(file: string): number {
  const { blocks } = JSON.parse(readFileSync(file, 'utf8')) as { blocks: { header: Record<string, string> }[] }
  const times = blocks
    .filter(({ header }) => Number(header['number']) === 0)
    .map(({ header }) => Number(header['timestamp']))
  return Math.min(...times)
}

function nowSeconds(): number {
  return Math.floor(Date.now() / 1_000)
}

/** Calls a method of a node. @returns whether it answered with a result */
async function call(rpcUrl: string, method: string, params: readonly string[] = []): Promise<boolean> {
  try {
    const response = await fetch(rpcUrl, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
      signal: AbortSignal.timeout(PROBE_TIMEOUT_MS),
    })
    return 'result' in ((await response.json()) as object)
  } catch {
    return false
  }
}
