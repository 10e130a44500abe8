// A process of a test run, which runs one test file after the other: what they import is loaded once, and what the first
// of them has made the processor learn is known to the next. Each file is a suite with its own hooks.
import '../../../contract/std/mendedJson.ts'
import { describe } from 'node:test'
import { pathToFileURL } from 'node:url'
import { inspect } from 'node:util'
import { leftOpen, replaceEnvironment } from '../processState.ts'
import { closeUnusedEarly } from './idleConnections.ts'
import type { Failure, FromLane, ToLane } from './laneMessages.ts'
import { listen } from './laneReporter.ts'
import { stopRunOfDeadRunner } from './leftRun.ts'
import { track } from './tracking.ts'

const CLOSE_WAIT_MS = 2_000
const CLOSE_POLL_MS = 20
/** What every lane has: the channel to the runner, and work that ends by itself in this turn. */
const OWN_RESOURCES = new Set(['Immediate', 'PipeWrap', 'Pipe', 'TTYWrap', 'CloseReq', 'FSReqPromise', 'FSReqCallback'])

const environment = { ...process.env }
let passed = 0
let failed = 0
let fileEnded: ((name: string) => void) | undefined
let ending = false
const ready = closeUnusedEarly()

function tell(message: FromLane): void {
  process.send?.(message)
}

function fail(failure: Failure): void {
  failed++
  tell({ failed: failure })
}

listen({
  failed: fail,
  passed: () => void passed++,
  noted: (note) => tell({ note }),
  fileEnded: (name) => fileEnded?.(name),
})

// Those that nobody has caught fail the file: see tracking.ts.
for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
  process.on(event, (error) => fail({ name: event, text: inspect(error) }))
}

async function run(file: string): Promise<void> {
  await ready
  const before = process.cpuUsage()
  passed = 0
  failed = 0
  const ended = new Promise<void>((resolve) => {
    fileEnded = (name) => {
      if (name === file) resolve()
    }
  })
  track(true)
  describe(file, async () => {
    await import(pathToFileURL(file).href).finally(() => track(false))
  })
  await ended
  if (passed + failed === 0) fail({ name: 'the whole file', text: 'no test of it ran' })
  const open = await leftOpen(OWN_RESOURCES, CLOSE_WAIT_MS, CLOSE_POLL_MS)
  replaceEnvironment(environment)
  const { user, system } = process.cpuUsage(before)
  const cpuSeconds = (user + system) / 1e6
  tell({ ended: { passed, cpuSeconds, residentBytes: process.memoryUsage.rss(), leftOpen: open } })
}

process.on('message', (message: ToLane) => {
  if ('run' in message) return void run(message.run)
  ending = true
  process.exit(0)
})
process.on('disconnect', () => {
  if (!ending) stopRunOfDeadRunner()
  process.exit(1)
})
