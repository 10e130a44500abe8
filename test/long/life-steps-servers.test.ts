// Goal: a request goes on and is booked once, at whichever step control, Redis or PostgreSQL is killed. Method: a request is
// held at each step, by what it waits for there; then the book, the audit and the provider's log.
import { after, before } from 'node:test'
import { killAtEveryStep } from '../support/lifeFaults.ts'
import { CONTROL, POSTGRES, REDIS } from '../support/lifeVictims.ts'
import { LifeWorld } from '../support/lifeWorld.ts'

let world: LifeWorld

before(async () => {
  world = await LifeWorld.start({ ownPostgres: true, limits: { breakerFailures: 1_000_000, pulseIntervalMs: 200 } })
})
after(() => world.finish())

killAtEveryStep([CONTROL, REDIS, POSTGRES], () => world)
