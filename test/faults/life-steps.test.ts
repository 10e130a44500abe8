// Goal: whoever had a receipt has it in the book with the same numbers, once, and whoever had none is not charged, at
// whichever step the process ends that serves the request. Method: a request is held at each step, by what it waits for
// there; a worker, or the whole proxy, is killed; then the book, the audit and the provider's log.
import { after, before } from 'node:test'
import { killAtEveryStep } from '../support/lifeFaults.ts'
import { PROXY, WORKER } from '../support/lifeVictims.ts'
import { LifeWorld } from '../support/lifeWorld.ts'

/** Far above what the test waits: what is left can come from the journal alone. */
const NEVER_MS = 600_000

let world: LifeWorld

before(async () => {
  const limits = { heartbeatTimeoutMs: NEVER_MS, breakerFailures: 1_000_000, pulseIntervalMs: 200, replayScanMs: 200 }
  world = await LifeWorld.start({ limits })
})
after(() => world.finish())

killAtEveryStep([WORKER, PROXY], () => world)
