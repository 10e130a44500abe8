// A process of a test run, which runs one test file after the other: what they import is loaded once, and what the first
// of them has made the processor learn is known to the next. Each file is a suite with its own hooks.
import { describe } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import type { FromLane, ToLane } from './laneMessages.ts'
import { listen } from './laneReporter.ts'
import { stopRunOfDeadRunner } from './leftRun.ts'

/** Connections that are being closed need a moment. */
const CLOSE_WAIT_MS = 2_000
const CLOSE_POLL_MS = 20
/** What every lane has: the channel to the runner, and work that ends by itself in this turn. */
const OWN_RESOURCES = new Set(['Immediate', 'PipeWrap', 'Pipe', 'TTYWrap', 'CloseReq', 'FSReqPromise', 'FSReqCallback'])

const environment = { ...process.env }
let passed = 0
let fileEnded: (() => void) | undefined
let ending = false

function tell(message: FromLane): void {
  process.send?.(message)
}

listen({
  failed: (failure) => tell({ failed: failure }),
  passed: () => void passed++,
  noted: (note) => tell({ note }),
  fileEnded: () => fileEnded?.(),
})

async function run(file: string): Promise<void> {
  const before = process.cpuUsage()
  passed = 0
  const ended = new Promise<void>((resolve) => {
    fileEnded = resolve
  })
  describe(file, async () => {
    await import(pathToFileURL(file).href)
  })
  await ended
  const leftOpen = await openAfterWait()
  restoreEnvironment()
  const { user, system } = process.cpuUsage(before)
  const cpuSeconds = (user + system) / 1e6
  tell({ ended: { passed, cpuSeconds, residentBytes: process.memoryUsage.rss(), leftOpen } })
}

async function openAfterWait(): Promise<string[]> {
  const deadlineMs = Date.now() + CLOSE_WAIT_MS
  for (;;) {
    const open = process.getActiveResourcesInfo().filter((resource) => !OWN_RESOURCES.has(resource))
    if (open.length === 0 || Date.now() > deadlineMs) return open
    await sleep(CLOSE_POLL_MS)
  }
}

function restoreEnvironment(): void {
  for (const name of Object.keys(process.env)) if (!(name in environment)) delete process.env[name]
  Object.assign(process.env, environment)
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
