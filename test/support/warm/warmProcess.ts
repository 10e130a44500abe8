import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { compiled } from '../../../control/launch/paths.ts'
import { lastLines, logLength } from '../../../control/launch/process/logFile.ts'
import type { ProcessDefinition } from '../../../control/launch/process/managedProcess.ts'
import { TEST_FLAGS } from '../nodeFlags.ts'
import type { FromWarm } from './warmMessages.ts'

/** The programs that can run more than once in a process, and what runs them. */
const HOSTS: Readonly<Record<string, string>> = {
  'control/main.js': 'test/support/warm/controlHost.js',
  'test/support/controlWithout.js': 'test/support/warm/controlHost.js',
  'proxy/main.js': 'test/support/warm/proxyHost.js',
  'mock/main.js': 'test/support/warm/mockHost.js',
}
/** What a run leaves in its process is little, and not nothing. */
const RUNS_MAX = 40

interface Host {
  readonly child: ChildProcess
  runs: number
}

/** By the file that runs their programs. */
const idle = new Map<string, Host[]>()

/** Whether a warm process may run the program: Node.js reads its own variables when a process starts. */
export function canBeWarm(program: string, args: readonly string[], env: NodeJS.ProcessEnv): boolean {
  const isPlain = args.length === 0 && !Object.keys(env).some((name) => name.startsWith('NODE_'))
  return isPlain && program in HOSTS && process.env['SLUICE_TEST_KEEP'] !== '1'
}

/**
 * One program of a stack, in a process that has run it before for another. It is killed, stopped and seen by its process id
 * like a process of its own; after a stop the next stack gets its process.
 */
export class WarmProcess {
  ready: Readonly<Record<string, number>> = {}
  lastExit: { code: number | null; signal: NodeJS.Signals | null } | undefined
  private readonly hostFile: string
  private readonly definition: ProcessDefinition
  private host: Host | undefined
  private ended: Promise<void> = Promise.resolve()

  constructor(program: string, definition: ProcessDefinition) {
    this.hostFile = HOSTS[program] ?? program
    this.definition = definition
  }

  get pid(): number | undefined {
    return this.host?.child.pid
  }

  /** @throws Error with the end of its log when it ends first or takes longer than limits.startTimeoutMs */
  async start(changes: NodeJS.ProcessEnv): Promise<void> {
    const { name, env, logFile, limits } = this.definition
    if (this.host !== undefined) throw new Error(`${name} is running already`)
    const logged = logLength(logFile)
    const host = idle.get(this.hostFile)?.pop() ?? newHost(this.hostFile)
    host.runs++
    hold(host.child, true)
    this.host = host
    this.ended = this.untilEnded(host)
    const ready = this.untilReady(host.child)
    host.child.send({ environment: { ...env, ...changes }, logFile }, () => undefined)
    const timer = setTimeout(() => host.child.kill('SIGKILL'), limits.startTimeoutMs)
    await Promise.race([ready, this.ended])
    clearTimeout(timer)
    if (this.host === undefined) throw new Error(`${name} did not start:\n${lastLines(logFile, logged)}`)
  }

  /** Asks the program to stop; kills it when it does not in time. Safe to call again and when it does not run. */
  async stop(): Promise<void> {
    await this.signal('SIGTERM')
  }

  /** Ends the process as a crash would. */
  async kill9(): Promise<void> {
    await this.signal('SIGKILL')
  }

  private async signal(signal: NodeJS.Signals): Promise<void> {
    const child = this.host?.child
    if (child === undefined) return
    child.kill(signal)
    const timer = setTimeout(() => child.kill('SIGKILL'), this.definition.stopTimeoutMs)
    await this.ended
    clearTimeout(timer)
  }

  private async untilReady(child: ChildProcess): Promise<void> {
    for (;;) {
      const [message] = (await once(child, 'message')) as [FromWarm]
      if (!('ready' in message)) continue
      this.ready = message.ready
      return
    }
  }

  private untilEnded(host: Host): Promise<void> {
    const { child } = host
    return new Promise((resolve) => {
      const end = (exit: { code: number | null; signal: NodeJS.Signals | null }, isIdle: boolean): void => {
        child.off('exit', exited).off('message', told)
        this.lastExit = exit
        this.host = undefined
        if (isIdle) giveBack(this.hostFile, host)
        resolve()
      }
      const exited = (code: number | null, signal: NodeJS.Signals | null): void => end({ code, signal }, false)
      const told = (message: FromWarm): void => {
        if ('idle' in message) end({ code: 0, signal: null }, true)
      }
      child.on('exit', exited).on('message', told)
    })
  }
}

function newHost(hostFile: string): Host {
  const child = fork(compiled(hostFile), {
    execArgv: TEST_FLAGS,
    detached: true,
    stdio: ['ignore', 2, 2, 'ipc'],
  })
  child.on('exit', () => {
    const hosts = idle.get(hostFile) ?? []
    idle.set(
      hostFile,
      hosts.filter((host) => host.child !== child),
    )
  })
  return { child, runs: 0 }
}

function giveBack(hostFile: string, host: Host): void {
  hold(host.child, false)
  if (host.runs >= RUNS_MAX) host.child.disconnect()
  else idle.set(hostFile, [...(idle.get(hostFile) ?? []), host])
}

/** Whether this process waits for the end of that one, as for that of any program that a test has not stopped. */
function hold(child: ChildProcess, isHeld: boolean): void {
  const how = isHeld ? 'ref' : 'unref'
  child[how]()
  child.channel?.[how]()
}
