import { mkdirSync, rmSync } from 'node:fs'
import { join, relative } from 'node:path'
import { unknownVariables } from '../../contract/schemas/environment.ts'
import { newSignal } from '../../contract/std/signal.ts'
import type { LaunchLimits } from './limits.ts'
import { closeFolder, provideDataFolder } from './privateFolder.ts'
import { portFault } from './process/freePort.ts'
import { takePidFile } from './process/pidFile.ts'
import { type RunningStack, StackRunner } from './runStack.ts'
import { readSettings, type Settings } from './settings.ts'

// One Ctrl-C reaches this process from the terminal and maybe again from npm or make; a later one is another one.
const SAME_INTERRUPT_MS = 1_000

/** The stop requests that signals made to this process. */
class StopRequest {
  /** Resolves when it is to stop. */
  readonly stop: Promise<void>
  /** Resolves when it is to stop immediately: Ctrl-C, again. */
  readonly cut: Promise<void>

  constructor() {
    const stop = newSignal()
    const cut = newSignal()
    this.stop = stop.promise
    this.cut = cut.promise
    let firstMs: number | undefined
    const ask = (isInterrupt: boolean) => {
      firstMs ??= performance.now()
      stop.resolve()
      if (isInterrupt && performance.now() - firstMs > SAME_INTERRUPT_MS) cut.resolve()
    }
    process.on('SIGINT', () => ask(true))
    for (const signal of ['SIGTERM', 'SIGHUP'] as const) process.on(signal, () => ask(false))
  }
}

const PORT_FAULTS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'is taken; stop what uses it, or set PORT to another one',
  EACCES: 'needs a privilege that this user does not have; set PORT to one above 1023',
  EADDRNOTAVAIL: 'cannot be opened, because this machine does not have that address; set HOST to one that it has',
}

async function refuseTakenPort({ port, host }: Settings): Promise<void> {
  const fault = port === 0 ? undefined : await portFault(port, host)
  if (fault === undefined) return
  throw new Error(`port ${port} of ${host} ${PORT_FAULTS[fault] ?? `cannot be opened (${fault})`}`)
}

/**
 * Makes the data folder this run's own, before anything in it changes.
 * @returns gives it back
 * @throws Error when it cannot be used, or another run has it
 */
function takeDataFolder({ dataDir, logDir }: Settings): () => void {
  provideDataFolder(dataDir)
  const pidFile = join(dataDir, 'run.pid')
  const other = takePidFile(pidFile, /launch\/main\.js/)
  if (other !== undefined) {
    throw new Error(`Sluice already runs on ${dataDir} (process ${other}); stop it, or set SLUICE_DATA`)
  }
  closeFolder(dataDir)
  mkdirSync(logDir, { recursive: true })
  return () => rmSync(pidFile, { force: true })
}

/** The console, signed in: browsers send no server what stands after the #, and the page removes it from the address. */
function consoleUrl(baseUrl: string, apiKey: string): string {
  return `${baseUrl}/console#key=${apiKey}`
}

function welcome(stack: RunningStack, settings: Settings): string {
  const { baseUrl, metricsUrl, controlMetricsUrl, account, models, isDemo, catalogPath, payer } = stack
  const [model = 'MODEL'] = models
  const body = JSON.stringify({ model, stream: true, messages: [{ role: 'user', content: 'Hello' }] })
  return `
Sluice is running${isDemo ? ' with a mock provider (no provider key is set; see catalog.yaml)' : ''}.

  Console   ${consoleUrl(baseUrl, account.api_key)}
  Base URL  ${baseUrl}/v1
  API key   ${account.api_key}
  Models    ${models.join(', ') || `none can serve; see the warnings above and ${relative('.', catalogPath)}`}
  Metrics   ${metricsUrl} (proxy)
            ${controlMetricsUrl} (control)
  Logs      ${relative('.', settings.logDir) || '.'}/

Try it:

  curl -N ${baseUrl}/v1/chat/completions -H 'Authorization: Bearer ${account.api_key}' -H 'Content-Type: application/json' -d '${body}'
${payer === undefined ? '' : PAYING}
Ctrl-C stops it; accounts and receipts stay in ${relative('.', settings.dataDir) || '.'}/.`
}

const PAYING = `
Pay for a request by itself, without a key, on a development chain with test tokens:

  npm run demo:pay
`

async function runUntilAsked(show: (text: string) => void, limits: LaunchLimits): Promise<number> {
  const asked = new StopRequest()
  const settings = readSettings(process.env)
  for (const sentence of unknownVariables(process.env)) show(sentence)
  await refuseTakenPort(settings)
  const giveBack = takeDataFolder(settings)
  const runner = new StackRunner(settings, show, limits)
  let failed = false
  try {
    const starting = runner.start().then((stack) => show(welcome(stack, settings)))
    // A start that a stop interrupts fails later, unheard.
    starting.catch(() => {})
    await Promise.race([starting, asked.stop])
    await asked.stop
    const graceSeconds = Math.ceil(limits.drainGraceMs / 1_000)
    show(`\nStopping; running streams get up to ${graceSeconds} s to end. Ctrl-C again stops immediately ...`)
  } catch (error) {
    failed = true
    show(`Sluice did not start: ${error instanceof Error ? error.message : String(error)}`)
  }
  void asked.cut.then(() => {
    show('Stopping immediately; requests that were running are not charged.')
    return runner.cut()
  })
  await runner.stop()
  giveBack()
  if (!failed) show('Stopped.')
  return failed ? 1 : 0
}

/**
 * Runs `make run`, until a signal stops it.
 * @param show prints a line on the terminal
 * @returns the exit status
 */
export function run(show: (text: string) => void, limits: LaunchLimits): Promise<number> {
  return runUntilAsked(show, limits).catch((error: unknown) => {
    show(`Sluice did not start: ${error instanceof Error ? error.message : String(error)}`)
    return 1
  })
}
