import type { StreamCall } from './clients/streamCall.ts'
import { hasEnding, openRequest } from './journals.ts'
import type { LifeWorld } from './lifeWorld.ts'
import { present } from './present.ts'
import type { Relay } from './relay.ts'
import { until } from './until.ts'

/** A request that stands at a step. */
export interface AtStep {
  readonly call: StreamCall
  readonly requestId: string
  /** Lets go of what holds it. @param isDead the process that served it has been killed */
  letGo(isDead: boolean): Promise<void>
}

/** A step in the life of a request on a lease. */
export interface LifeStep {
  readonly name: string
  /** Its ending is in the journal, so that it is charged whichever process ends. */
  readonly hasEnded: boolean
  /** Its provider has been asked. */
  readonly isAsked: boolean
  reach(world: LifeWorld): Promise<AtStep>
}

/** Every step that something outside of the process can follow, in their order. */
export const LIFE_STEPS: readonly LifeStep[] = [
  { name: 'the opening is written, and the provider not called', hasEnded: false, isAsked: false, reach: opened },
  { name: 'mid-stream', hasEnded: false, isAsked: true, reach: midStream },
  { name: 'the ending is written, and the receipt not shown', hasEnded: true, isAsked: true, reach: ended },
  { name: 'the receipt is shown, and the ending not delivered', hasEnded: true, isAsked: true, reach: shown },
  { name: 'the ending is delivered, and not booked', hasEnded: true, isAsked: true, reach: delivered },
  { name: 'the ending is booked, and its journal still there', hasEnded: true, isAsked: true, reach: booked },
]

async function opened(world: LifeWorld): Promise<AtStep> {
  world.providerRelay.hold('client')
  const call = world.ask()
  // Only the gateway speaks first on that connection.
  await until('the gateway calls the provider', () => world.providerRelay.keptBytes('client') > 0)
  const requestId = present(await openRequest(world.stack.dir))
  return { call, requestId, letGo: async (isDead) => letGoOf(world.providerRelay, isDead) }
}

async function midStream(world: LifeWorld): Promise<AtStep> {
  const call = await world.askHalf()
  const { provider } = world.stack
  const letGo = async (isDead: boolean): Promise<void> => {
    if (isDead) await until('the provider knows that nobody listens', async () => (await provider.open()) === 0)
    await release(world)
  }
  return { call, requestId: call.requestId, letGo }
}

async function ended(world: LifeWorld): Promise<AtStep> {
  const call = await world.askHalf()
  const { requestId } = call
  world.clientRelay.hold('server')
  await release(world)
  await until('the ending is written', () => hasEnding(world.stack.dir, requestId))
  return { call, requestId, letGo: async (isDead) => letGoOf(world.clientRelay, isDead) }
}

async function shown(world: LifeWorld): Promise<AtStep> {
  const call = await world.askHalf()
  world.redisRelay.hold('client')
  await release(world)
  await until('the receipt is shown', () => call.receipt !== null)
  // A call that is under way would arrive although the process that made it is gone.
  return { call, requestId: call.requestId, letGo: async (isDead) => letGoOf(world.redisRelay, isDead) }
}

async function delivered(world: LifeWorld): Promise<AtStep> {
  await world.lockBook()
  const call = world.ask()
  await until('the receipt is shown', () => call.receipt !== null)
  await until('the ending is delivered', async () => (await world.unbooked()) > 0)
  await until('it is being booked', () => world.waitsForBook())
  return { call, requestId: call.requestId, letGo: () => world.unlockBook() }
}

async function booked(world: LifeWorld): Promise<AtStep> {
  const call = world.ask()
  await until('the receipt is shown', () => call.receipt !== null)
  await world.stack.settled()
  return { call, requestId: call.requestId, letGo: async () => undefined }
}

function letGoOf(relay: Relay, isDead: boolean): void {
  if (isDead) relay.breakAll()
  else relay.release()
}

async function release(world: LifeWorld): Promise<void> {
  await world.stack.provider.release()
}
